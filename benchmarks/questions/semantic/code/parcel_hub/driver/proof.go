package driver

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"
)

type Proof struct {
	Parcel    string
	Name      string
	Ink       []byte // PNG from the handheld
	Lat, Lon  float64
	At        time.Time
	Neighbour bool
}

var ErrTooFar = errors.New("handheld is not near the door")

// Accept refuses confirmations given from the couch.
func Accept(p Proof, metres float64) error {
	if metres > 150 {
		return ErrTooFar
	}
	if len(p.Ink) == 0 && !p.Neighbour {
		return errors.New("nobody signed")
	}
	return nil
}

func Fingerprint(p Proof) string {
	h := sha256.New()
	h.Write([]byte(p.Parcel + p.Name + p.At.UTC().Format(time.RFC3339)))
	h.Write(p.Ink)
	return hex.EncodeToString(h.Sum(nil))
}

// CashUp compares what should be in the purse at the end of the day.
func CashUp(expected map[string]int, handedIn int) (diff int) {
	for _, cents := range expected {
		diff -= cents
	}
	return diff + handedIn
}
