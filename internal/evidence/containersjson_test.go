package evidence

import "testing"

// Fields of docker container ls and docker compose ps (docs.docker.com), and of
// podman-ps(1).
const (
	dockerPSJSON = `{"Command":"\"node i.js\"","ID":"9f1c2d3e4b5a","Image":"bot:2","Names":"bot","State":"restarting","Status":"Restarting (1) 8 seconds ago"}
{"Command":"\"node j.js\"","ID":"9f1c2d3e4b5b","Image":"bot:2","Names":"ok","State":"exited","Status":"Exited (137) 8 seconds ago"}
{"Command":"\"node k.js\"","ID":"9f1c2d3e4b5c","Image":"bot:2","Names":"up","State":"running","Status":"Up 2 hours (unhealthy)"}
`
	composePSJSON = `{"Command":"node","ExitCode":137,"Health":"","Name":"shop-work-1","Service":"work","State":"exited","Status":"Exited (137) 3 minutes ago"}
`
	podmanPSJSON = `[
  {"Id":"4b61f4d2c1f7","Image":"api:4","Names":["web"],"Exited":true,"ExitCode":137,"Restarts":4,"State":"exited","Status":"Exited (137) 3 minutes ago"}
]
`
	crictlPSText = `CONTAINER           IMAGE               CREATED             STATE               NAME                ATTEMPT             POD ID              POD
4f1c2d3e4b5a6       a1b2c3d4e5f6        2 minutes ago       Exited              api                 7                   0a1b2c3d4e5f6       api-0
4f1c2d3e4b5a5       a1b2c3d4e5f6        9 minutes ago       Exited              api                 6                   0a1b2c3d4e5f6       api-0
9f1c2d3e4b5a7       a1b2c3d4e5f7        2 hours ago         Running             db                  0                   0a1b2c3d4e5f7       db-0
`
)

func TestStatesOfContainersInJSON(t *testing.T) {
	c := readFile(t, "ps.json", dockerPSJSON)
	wantWhole(t, c)
	if len(c.Containers) != 3 || len(c.Logs) != 0 || c.Containers[0].State != "restarting" || c.Containers[0].Name != "bot" || c.Containers[2].Health != "unhealthy" {
		t.Fatalf("%+v, %+v", c.Containers, c.Logs)
	}
	wantValue(t, "docker", c.Containers[1].ExitCode, 137, NoUnit, "ps.json:2 Status")
	c = readFile(t, "ps.json", composePSJSON)
	if c.Containers[0].Name != "shop-work-1" || c.Containers[0].State != "exited" {
		t.Errorf("%+v", c.Containers)
	}
	wantValue(t, "compose", c.Containers[0].ExitCode, 137, NoUnit, "")
	c = readFile(t, "ps.json", podmanPSJSON)
	if c.Containers[0].Name != "web" {
		t.Errorf("%+v", c.Containers)
	}
	wantValue(t, "podman", c.Containers[0].ExitCode, 137, NoUnit, "")
	wantValue(t, "podman's restarts", c.Containers[0].Restarts, 4, Events, "ps.json [0].Restarts")
}

func TestCrictlPS(t *testing.T) {
	c := readFile(t, "ps.txt", crictlPSText)
	wantWhole(t, c)
	if len(c.Containers) != 2 || c.Containers[0].Name != "api-0/api" || c.Containers[0].State != "restarting" || c.Containers[1].State != "running" {
		t.Fatalf("%+v", c.Containers)
	}
	wantValue(t, "restarts", c.Containers[0].Restarts, 7, Events, "ps.txt:2 ATTEMPT")
}

// ContainerStatus of the CRI's api.proto; the limits are those of the OCI runtime
// specification.
const crictlInspect = `{"status":{"id":"4f1c","metadata":{"attempt":7,"name":"api"},"state":"CONTAINER_EXITED","startedAt":"2026-01-15T09:50:00Z","finishedAt":"2026-01-15T10:00:02Z","exitCode":137,"reason":"OOMKilled","labels":{"io.kubernetes.pod.name":"api-0"}},
"info":{"runtimeSpec":{"linux":{"resources":{"memory":{"limit":536870912},"cpu":{"quota":50000,"period":100000}}}}}}`

func TestCrictlInspect(t *testing.T) {
	c := readFile(t, "inspect.json", crictlInspect)
	wantWhole(t, c)
	one := &c.Containers[0]
	if one.Name != "api-0/api" || one.State != "terminated" || one.OOMKilled != Yes || one.Finished.Format("15:04:05") != "10:00:02" {
		t.Errorf("%+v", one)
	}
	wantValue(t, "exit code", one.ExitCode, 137, NoUnit, "inspect.json status.exitCode")
	wantValue(t, "restarts", one.Restarts, 7, Events, "")
	wantValue(t, "limit", one.MemoryLimit, 512<<20, Bytes, "")
	wantValue(t, "CPUs", one.CPULimit, 0.5, NoUnit, "")
}

func FuzzStatesOfContainers(f *testing.F) {
	fuzzFile(f, "x", dockerPSJSON, composePSJSON, podmanPSJSON, crictlPSText, crictlInspect)
}
