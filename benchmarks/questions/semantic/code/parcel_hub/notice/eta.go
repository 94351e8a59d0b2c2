package notice

import (
	"fmt"
	"time"
)

type Gateway interface {
	Text(phone, body string) error
}

// Window rounds to half hours and gives a span of ninety minutes.
func Window(eta time.Time) (from, to time.Time) {
	from = eta.Add(-30 * time.Minute).Truncate(30 * time.Minute)
	return from, from.Add(90 * time.Minute)
}

func Announce(g Gateway, phone, id string, eta time.Time, quietAfter int) error {
	if time.Now().Hour() >= quietAfter {
		return nil
	}
	a, b := Window(eta)
	return g.Text(phone, fmt.Sprintf("%s arrives between %s and %s", id, a.Format("15:04"), b.Format("15:04")))
}

func LeftCard(g Gateway, phone, id, shop string, until time.Time) error {
	return g.Text(phone, fmt.Sprintf("Nobody was home. %s waits at %s until %s", id, shop, until.Format("2 Jan")))
}
