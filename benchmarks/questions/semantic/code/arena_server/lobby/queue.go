package lobby

import (
	"sort"
	"sync"
	"time"
)

const (
	initialWindow = 75.0
	widenPerSec   = 8.0
	teamSize      = 4
)

type Ticket struct {
	PlayerID string
	Rating   float64
	Region   string
	Joined   time.Time
}

type Queue struct {
	mu      sync.Mutex
	tickets []Ticket
}

func (q *Queue) Enter(t Ticket) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tickets = append(q.tickets, t)
}

// tolerance grows the longer somebody has been standing in line.
func tolerance(t Ticket, now time.Time) float64 {
	return initialWindow + widenPerSec*now.Sub(t.Joined).Seconds()
}

// TryMatch returns eight tickets of similar strength, or nil.
func (q *Queue) TryMatch(now time.Time) []Ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	sort.Slice(q.tickets, func(i, j int) bool { return q.tickets[i].Rating < q.tickets[j].Rating })
	need := teamSize * 2
	for i := 0; i+need <= len(q.tickets); i++ {
		group := q.tickets[i : i+need]
		spread := group[need-1].Rating - group[0].Rating
		ok := true
		for _, t := range group {
			if tolerance(t, now) < spread || t.Region != group[0].Region {
				ok = false
				break
			}
		}
		if ok {
			out := append([]Ticket(nil), group...)
			q.tickets = append(q.tickets[:i], q.tickets[i+need:]...)
			return out
		}
	}
	return nil
}

// Split deals the eight in snake order so both sides are about equal.
func Split(group []Ticket) (red, blue []Ticket) {
	sort.Slice(group, func(i, j int) bool { return group[i].Rating > group[j].Rating })
	for i, t := range group {
		if i%4 == 0 || i%4 == 3 {
			red = append(red, t)
		} else {
			blue = append(blue, t)
		}
	}
	return red, blue
}
