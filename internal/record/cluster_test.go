package record_test

import (
	"strings"
	"testing"

	"github.com/solehold/solehold/internal/record"
)

// The lock of a cluster is in the record like everything else, and long texts do not burst a slot.
func TestCluster(t *testing.T) {
	holder := record.Holder{Process: record.Process{PID: 7}}
	r := record.Record{Format: record.Format, Seq: 1, Token: 5, State: record.Starting, Nonce: "aa", Holder: holder}
	r.Cluster = &record.Cluster{Engine: "etcd", Key: "/solehold/claim/a%20b", Token: 812}
	got, err := record.Decode(record.NewEncoder(holder).Encode(&r))
	if err != nil || got.Cluster == nil || *got.Cluster != *r.Cluster || got.Holder.PID != 7 {
		t.Errorf("%+v, %v", got, err)
	}
	r.Cluster.Sticky = true
	if got, err := record.Decode(record.NewEncoder(holder).Encode(&r)); err != nil || *got.Cluster != *r.Cluster {
		t.Errorf("%+v, %v", got, err)
	}
	r.Cluster.Key = strings.Repeat("\x01", 4000)
	if text := record.NewEncoder(holder).Encode(&r); len(text) != record.SlotSize {
		t.Errorf("%d bytes", len(text))
	}
}
