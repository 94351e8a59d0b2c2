package label

import (
	"errors"
	"strings"
)

var ErrLabel = errors.New("label not readable")

// CheckDigit follows the UPU S10 scheme (weights 8 6 4 2 3 5 9 7).
func CheckDigit(serial string) int {
	weights := []int{8, 6, 4, 2, 3, 5, 9, 7}
	sum := 0
	for i, w := range weights {
		sum += w * int(serial[i]-'0')
	}
	d := 11 - sum%11
	switch d {
	case 10:
		return 0
	case 11:
		return 5
	}
	return d
}

func Parse(code string) (service, serial, country string, err error) {
	code = strings.ToUpper(strings.ReplaceAll(code, " ", ""))
	if len(code) != 13 {
		return "", "", "", ErrLabel
	}
	serial = code[2:10]
	if int(code[10]-'0') != CheckDigit(serial) {
		return "", "", "", ErrLabel
	}
	return code[:2], serial, code[11:], nil
}
