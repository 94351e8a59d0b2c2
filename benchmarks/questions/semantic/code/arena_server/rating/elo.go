package rating

import "math"

const (
	kNew     = 48.0
	kSettled = 20.0
)

// Expected is the chance of a beating b.
func Expected(a, b float64) float64 {
	return 1 / (1 + math.Pow(10, (b-a)/400))
}

func Update(own, opponents float64, won bool, games int) float64 {
	k := kSettled
	if games < 20 {
		k = kNew
	}
	score := 0.0
	if won {
		score = 1
	}
	return own + k*(score-Expected(own, opponents))
}

// Decay pulls veterans who stay away for months towards the middle.
func Decay(r float64, weeksIdle int) float64 {
	if weeksIdle < 8 {
		return r
	}
	return 1500 + (r-1500)*math.Pow(0.98, float64(weeksIdle-8))
}

func Tier(r float64) string {
	switch {
	case r < 1200:
		return "bronze"
	case r < 1500:
		return "silver"
	case r < 1800:
		return "gold"
	default:
		return "diamond"
	}
}
