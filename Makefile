VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
VENDOR  := internal/report/assets/vendor/.stamp

.PHONY: run build test bench lint clean

# Under CI the built-in server must not take gunicorn's place.
run: need-run build
	@bin/brink run worker-exhaustion --profile quick $(if $(CI),--no-substitute) $(ARGS)

build: bin/brink

.PHONY: need-run need-test
need-run:
	@scripts/need.sh
need-test:
	@scripts/need.sh test

.PHONY: bin/brink
bin/brink: $(VENDOR)
	@CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X brink/internal/cli.Version=$(VERSION)' -o bin/brink ./cmd/brink

$(VENDOR): internal/report/web/package.json internal/report/web/package-lock.json
	@cd internal/report/web && npm ci --no-audit --no-fund --silent && npm run --silent build
	@touch $@

test: need-test build lint
	go test -race -shuffle=on -timeout 20m ./...

bench: build
	@scripts/bench.sh

lint:
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo 'run gofmt -w on these files'; exit 1; }
	go vet ./...
	go tool staticcheck ./...

clean:
	rm -rf bin internal/report/web/node_modules internal/report/assets/vendor/*
