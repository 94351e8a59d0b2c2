package lobby

import (
	"crypto/rand"
	"encoding/base32"
	"errors"
	"time"
)

var (
	ErrFull    = errors.New("party is full")
	ErrExpired = errors.New("invite expired")
)

type Party struct {
	Leader  string
	Members []string
	code    string
	until   time.Time
}

func (p *Party) Invite(now time.Time) string {
	var b [5]byte
	_, _ = rand.Read(b[:])
	p.code = base32.StdEncoding.EncodeToString(b[:])
	p.until = now.Add(10 * time.Minute)
	return p.code
}

func (p *Party) Accept(player, code string, now time.Time) error {
	if code != p.code || now.After(p.until) {
		return ErrExpired
	}
	if len(p.Members) >= teamSize {
		return ErrFull
	}
	p.Members = append(p.Members, player)
	return nil
}
