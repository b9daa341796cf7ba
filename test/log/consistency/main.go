// Command consistency says which consistency proofs the Merkle library of Tessera accepts. It reads a JSON list and prints one of booleans.
package main

import (
	"encoding/json"
	"log"
	"os"

	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
)

type checkpoint struct {
	Size uint64
	Root []byte
}

func main() {
	var cases []struct {
		Older, Newer checkpoint
		Proof        [][]byte
	}
	if err := json.NewDecoder(os.Stdin).Decode(&cases); err != nil {
		log.Fatal(err)
	}
	accepted := make([]bool, len(cases))
	for i, c := range cases {
		accepted[i] = proof.VerifyConsistency(rfc6962.DefaultHasher, c.Older.Size, c.Newer.Size, c.Proof, c.Older.Root, c.Newer.Root) == nil
	}
	if err := json.NewEncoder(os.Stdout).Encode(accepted); err != nil {
		log.Fatal(err)
	}
}
