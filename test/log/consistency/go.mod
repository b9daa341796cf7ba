module consistency

go 1.24

require github.com/transparency-dev/merkle v0.0.2
