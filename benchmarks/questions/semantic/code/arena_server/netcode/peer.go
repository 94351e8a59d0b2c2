package netcode

import (
	"net"
	"time"
)

type Peer struct {
	Addr      *net.UDPAddr
	LastHeard time.Time
	rtt       time.Duration
	pending   map[uint16]time.Time
	seq       uint16
}

func (p *Peer) Dead(now time.Time) bool {
	return now.Sub(p.LastHeard) > 12*time.Second
}

func (p *Peer) OnAck(seq uint16, now time.Time) {
	sent, ok := p.pending[seq]
	if !ok {
		return
	}
	delete(p.pending, seq)
	sample := now.Sub(sent)
	if p.rtt == 0 {
		p.rtt = sample
	} else {
		p.rtt = (p.rtt*7 + sample) / 8
	}
}

// newer copes with the 16-bit counter starting over at zero.
func newer(a, b uint16) bool {
	return int16(a-b) > 0
}

func (p *Peer) Lost(now time.Time) []uint16 {
	var out []uint16
	for s, at := range p.pending {
		if now.Sub(at) > 2*p.rtt+50*time.Millisecond {
			out = append(out, s)
		}
	}
	return out
}
