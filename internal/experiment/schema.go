package experiment

import (
	_ "embed" // the schema
	"slices"
)

//go:embed schema.json
var schema []byte

// Schema returns the JSON Schema of experiment files (draft 2020-12), for
// editors that complete and check them. It says what the types and the decoder
// allow; checks that look across fields are the loader's.
func Schema() []byte { return slices.Clone(schema) }
