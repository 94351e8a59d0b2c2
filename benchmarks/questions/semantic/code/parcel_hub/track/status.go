package track

import (
	"fmt"
	"time"
)

type Status string

const (
	Announced Status = "announced"
	InDepot   Status = "in_depot"
	OnVan     Status = "on_van"
	Delivered Status = "delivered"
	Failed    Status = "failed"
	Returned  Status = "returned"
)

var allowed = map[Status][]Status{
	Announced: {InDepot},
	InDepot:   {OnVan, Returned},
	OnVan:     {Delivered, Failed, InDepot},
	Failed:    {InDepot, Returned},
}

type Event struct {
	Parcel string
	To     Status
	At     time.Time
	By     string
}

// Advance rejects impossible jumps such as delivered -> on_van.
func Advance(cur, next Status) error {
	for _, s := range allowed[cur] {
		if s == next {
			return nil
		}
	}
	return fmt.Errorf("%s cannot follow %s", next, cur)
}

func GiveUp(events []Event, max int) bool {
	n := 0
	for _, e := range events {
		if e.To == Failed {
			n++
		}
	}
	return n >= max
}

func Stuck(last Event, now time.Time) bool {
	return last.To != Delivered && last.To != Returned && now.Sub(last.At) > 72*time.Hour
}
