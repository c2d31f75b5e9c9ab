package client

import (
	"termio/internal/api"
	"termio/internal/config"
	"termio/internal/quick"
)

// ReportPlace is where the reports of an environment's session go, whatever its
// termio home looks like; the zero Place where there is no session or nobody to be
// trusted.
func ReportPlace(environ []string) quick.Place {
	// What else is wrong with the environment is not a report's business.
	env, _ := config.FromEnv(environ)
	session, ok := api.ParseSessionID(env.Session)
	if !ok || env.Socket == "" || env.CheckSocket() != nil {
		return quick.Place{}
	}
	return quick.Place{Socket: env.Socket, Session: string(session)}
}
