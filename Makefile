VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
VENDOR  := internal/report/assets/vendor/.stamp

.PHONY: run build test bench doctor-score lint clean

# Under CI the built-in server must not take gunicorn's place.
run: need-run build
	@bin/brink run worker-exhaustion --profile quick $(if $(CI),--no-substitute) $(ARGS)

build: bin/brink

.PHONY: need-run need-test need-bench
need-run:
	@scripts/need.sh
need-test:
	@scripts/need.sh test
need-bench:
	@scripts/need.sh bench

.PHONY: bin/brink
bin/brink: $(VENDOR)
	@CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X brink/internal/cli.Version=$(VERSION)' -o bin/brink ./cmd/brink
	@CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o bin/brink-exporter ./cmd/brink-exporter

$(VENDOR): internal/report/web/package.json internal/report/web/package-lock.json
	@cd internal/report/web && npm ci --no-audit --no-fund --silent && npm run --silent build
	@touch $@

# Built with all cores first, then run one package at a time: several of them
# load the machine on purpose.
test: need-test build lint
	@go test -race -run '^$$' ./... >/dev/null
	go test -race -shuffle=on -p 1 -timeout 20m ./...

bench: need-bench build
	@scripts/bench.sh

# Which field cases doctor gets right, wrong or leaves open, by failure mode.
doctor-score:
	@scripts/doctor-score.sh

lint:
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo 'run gofmt -w on these files'; exit 1; }
	go vet ./...
	go tool staticcheck ./...

clean:
	rm -rf bin internal/report/web/node_modules internal/report/assets/vendor/*
