package sim

import "time"

type Weapon struct {
	Damage   int
	Range    float64
	Cooldown time.Duration
	FallOff  float64
}

func (w Weapon) DamageAt(dist float64) int {
	if dist > w.Range {
		return 0
	}
	return int(float64(w.Damage) * (1 - w.FallOff*dist/w.Range))
}

// Ready prevents firing faster than the gun allows.
func (w Weapon) Ready(last, now time.Time) bool {
	return now.Sub(last) >= w.Cooldown
}

func Hit(shooter, victim *Entity, amount int, friendlyFire bool) bool {
	if shooter.Team == victim.Team && !friendlyFire {
		return false
	}
	victim.HP -= amount
	if victim.HP < 0 {
		victim.HP = 0
	}
	return victim.HP == 0
}
