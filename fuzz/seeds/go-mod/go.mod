module example.org/shop/v2 // comment

go 1.22

require (
	github.com/a/b v1.0.0
)
replace x => ../x
