package evidence

// Config is how the app is set up, as far as the inputs tell.
type Config struct {
	Start  []StartCommand
	Probes []Probe
	// Settings are those of the platform that bear on a finding, by name. No
	// other setting is kept: they hold secrets.
	Settings []Setting
	Pools    []PoolConfig
	AlwaysOn Tri
	Stack    string // linuxFxVersion, image
	// Instances is the number of machines that the plan runs on.
	Instances Value
}

// Setting is one setting.
type Setting struct {
	Name  string
	Text  string
	Value Value // where it is a number
	From  Source
}

// Setting returns a setting by name.
func (c *Config) Setting(name string) (Setting, bool) {
	for _, s := range c.Settings {
		if s.Name == name {
			return s, true
		}
	}
	return Setting{}, false
}

// StartCommand is the command that starts the server, with what it settles.
type StartCommand struct {
	Text    string // with secrets blanked
	From    Source
	Server  string // gunicorn, uvicorn, uwsgi, node …; empty if not known
	Workers Value
	Threads Value
	Class   string // gunicorn's worker class
	Timeout Value  // s, after which the server kills a worker
	Backlog Value
	Port    int // 0 if not told
	MaxReqs Value
	Preload Tri
}

// PoolConfig is the settings of a pool that keeps them in a file: php-fpm.
type PoolConfig struct {
	Name        string
	Mode        string // static, dynamic, ondemand
	MaxChildren Value
	Backlog     Value
	Listen      string
	From        Source
}
