package depot

import (
	"fmt"
	"math"
	"time"
)

type Parcel struct {
	ID       string
	Grams    int
	L, W, H  int // centimetres
	Fragile  bool
	COD      int // cents to collect
	Arrived  time.Time
	Attempts int
}

// Billable is the larger of scale and volume, as the price list says.
func Billable(p Parcel) int {
	volumetric := p.L * p.W * p.H / 5
	if volumetric > p.Grams {
		return volumetric
	}
	return p.Grams
}

func Refuse(p Parcel) error {
	girth := p.L + 2*(p.W+p.H)
	if p.Grams > 31500 {
		return fmt.Errorf("%s: %.1f kg, allowed are 31.5", p.ID, float64(p.Grams)/1000)
	}
	if girth > 300 {
		return fmt.Errorf("%s: girth %d cm, allowed are 300", p.ID, girth)
	}
	return nil
}

// DispatchDay: whatever arrives after the cutoff leaves tomorrow.
func DispatchDay(arrived time.Time, cutoffHour, cutoffMin int) time.Time {
	day := arrived.Truncate(24 * time.Hour)
	limit := time.Date(arrived.Year(), arrived.Month(), arrived.Day(), cutoffHour, cutoffMin, 0, 0, arrived.Location())
	if arrived.After(limit) {
		day = day.AddDate(0, 0, 1)
	}
	for day.Weekday() == time.Sunday {
		day = day.AddDate(0, 0, 1)
	}
	return day
}

func StorageFee(arrived, collected time.Time) int {
	days := int(math.Ceil(collected.Sub(arrived).Hours()/24)) - 10
	if days <= 0 {
		return 0
	}
	return days * 50
}
