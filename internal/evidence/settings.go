package evidence

import (
	"slices"
	"strings"
)

// keptSettings are the app settings that bear on a finding. Every other one is
// left out: they hold connection strings and keys.
var keptSettings = []string{
	"WEBSITES_PORT", "PORT", "WEBSITES_CONTAINER_START_TIME_LIMIT", "WEBSITES_ENABLE_APP_SERVICE_STORAGE",
	"SCM_DO_BUILD_DURING_DEPLOYMENT", "ENABLE_ORYX_BUILD", "WEB_CONCURRENCY", "GUNICORN_CMD_ARGS", "PYTHON_GUNICORN_CUSTOM_WORKER_NUM",
	"PYTHON_ENABLE_GUNICORN_MULTIWORKERS", "WEBSITE_HEALTHCHECK_MAXPINGFAILURES", "WEBSITE_WARMUP_PATH", "WEBSITE_WARMUP_STATUSES",
	"NODE_OPTIONS", "UV_THREADPOOL_SIZE", "PM2_INSTANCES", "WEBSITE_RUN_FROM_PACKAGE", "MALLOC_ARENA_MAX", "JAVA_OPTS", "start_seconds",
}

// settingsJSON reads "az webapp config appsettings list", or an object of
// settings.
func settingsJSON(b *builder, f *file, v any) (string, bool) {
	found := false
	keep := func(name string, value any, field string) {
		if !slices.Contains(keptSettings, name) {
			return
		}
		text := redactText(shorten(textOf(value)))
		from := Source{File: f.name, Field: field}
		b.c.Config.Settings = append(b.c.Config.Settings, Setting{Name: name, Text: text, Value: parsedNumber(text, NoUnit, from), From: from})
		if name == "GUNICORN_CMD_ARGS" {
			b.startCommand("gunicorn "+textOf(value), from)
		}
	}
	if list, ok := v.([]any); ok {
		for _, item := range list {
			if name := textOf(at(item, "name")); name != "" && at(item, "value") != nil {
				found = true
				keep(name, at(item, "value"), name)
			}
		}
		return "app settings", found
	}
	o, _ := v.(object)
	if inner := objectAt(v, "properties"); inner != nil {
		o = inner
	}
	for _, name := range sortedKeys(o) {
		if name == strings.ToUpper(name) && strings.Contains(name, "_") || slices.Contains(keptSettings, name) {
			found = true
			keep(name, o[name], name)
		}
	}
	return "app settings", found
}

// webAppJSON reads "az webapp config show", and an app's own description.
//
// https://learn.microsoft.com/cli/azure/webapp/config
func webAppJSON(b *builder, f *file, v any) (string, bool) {
	config := objectAt(v, "siteConfig")
	if config == nil {
		config = asObject(v)
	}
	if _, ok := config["appCommandLine"]; !ok && config["linuxFxVersion"] == nil {
		return "", false
	}
	if command := textOf(config["appCommandLine"]); command != "" {
		b.startCommand(command, Source{File: f.name, Field: "appCommandLine"})
	}
	c := &b.c.Config
	c.Stack = shorten(textOf(config["linuxFxVersion"]))
	c.AlwaysOn = jsonTri(config, "alwaysOn")
	c.Instances = jsonNumber(f, config, Events, "", "numberOfWorkers")
	return "web app configuration", true
}

// TargetPort is the setting of Container Apps that says which port of the app the
// ingress, and a health check without a port, asks.
const TargetPort = "targetPort"

// ingressJSON reads "az containerapp ingress show", and the ingress of "az
// containerapp show". A port of 0 leaves it to the platform to find one.
//
// https://learn.microsoft.com/azure/container-apps/ingress-how-to
func ingressJSON(b *builder, f *file, v any) (string, bool) {
	o, place := asObject(v), ""
	if inner := objectAt(v, "properties", "configuration", "ingress"); inner != nil {
		o, place = inner, "properties.configuration.ingress."
	}
	if o[TargetPort] == nil || o["external"] == nil && o["transport"] == nil && o["fqdn"] == nil {
		return "", false
	}
	from := Source{File: f.name, Field: place + TargetPort}
	if port := parsedNumber(textOf(o[TargetPort]), NoUnit, from); port.Above(0) {
		b.c.Config.Settings = append(b.c.Config.Settings, Setting{Name: TargetPort, Text: textOf(o[TargetPort]), Value: port, From: from})
	}
	return "Container Apps ingress", true
}
