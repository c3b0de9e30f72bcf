package hist

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
)

// The compressed V2 encoding of HdrHistogram: a head and a body that zlib has packed, in
// base64. The body has a head of its own, and the counts up to the last that is not zero, as
// varints; a negative one is so many zeros. With two significant digits the buckets are the
// same as here.
const (
	packedCookie = 0x1c849314
	bodyCookie   = 0x1c849313
	digits       = 2
)

type packedHead struct{ Cookie, Length int32 }

type bodyHead struct {
	Cookie, Length, Offset, Digits int32
	Lowest, Highest                int64
	Ratio                          float64
}

// Encode returns the counts in the compressed V2 encoding of HdrHistogram, in base64, of
// two significant digits. The exact maximum is not in it.
func (h *Hist) Encode() string {
	var counts []byte
	zeros := int64(0)
	for _, c := range &h.counts {
		if c == 0 {
			zeros++
			continue
		}
		if zeros > 0 {
			counts = binary.AppendVarint(counts, -zeros)
		}
		counts, zeros = binary.AppendVarint(counts, int64(c)), 0
	}
	// What is written to memory is not refused.
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	head := bodyHead{bodyCookie, int32(len(counts)), 0, digits, 1, 1<<maxBits - 1, 1}
	_ = binary.Write(z, binary.BigEndian, head)
	_, _ = z.Write(counts)
	_ = z.Close()
	var b bytes.Buffer
	_ = binary.Write(&b, binary.BigEndian, packedHead{packedCookie, int32(packed.Len())})
	return base64.StdEncoding.EncodeToString(append(b.Bytes(), packed.Bytes()...))
}

// Decode reads the encoding of any HdrHistogram of integers with up to five
// significant digits. The maximum is then the lower end of the last bucket; [Hist.Add] of
// none of the real one mends it.
func (h *Hist) Decode(text string) error {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return err
	}
	var packed packedHead
	r := bytes.NewReader(b)
	if err := binary.Read(r, binary.BigEndian, &packed); err != nil {
		return err
	}
	if packed.Cookie != packedCookie || int(packed.Length) != r.Len() {
		return errors.New("it is not in the compressed V2 encoding")
	}
	z, err := zlib.NewReader(r)
	if err != nil {
		return err
	}
	var head bodyHead
	if err := binary.Read(z, binary.BigEndian, &head); err != nil {
		return err
	}
	if head.Cookie != bodyCookie || head.Digits < 0 || head.Digits > 5 || head.Lowest > 1 {
		return errors.New("it is not in the V2 encoding, or of something else than integers")
	}
	const most = 1 << 24 // bytes; a histogram of five digits has less
	counts, err := io.ReadAll(io.LimitReader(z, most))
	if err != nil {
		return err
	}
	if len(counts) != int(head.Length) {
		return fmt.Errorf("it has %d bytes of counts instead of %d", len(counts), head.Length)
	}
	*h = Hist{}
	return h.addCounts(counts, head.Digits)
}

// addCounts adds counts of buckets as a histogram of so many significant digits has them.
func (h *Hist) addCounts(counts []byte, digits int32) error {
	// As many values as can be told apart have a bucket each, rounded up to a power of two;
	// half as many buckets each power of two above.
	half := bits.Len(uint(2*math.Pow10(int(digits))-1)) - 1
	for i := uint64(0); len(counts) > 0; {
		c, n := binary.Varint(counts)
		if n <= 0 || c == math.MinInt64 {
			return errors.New("a count in it is damaged")
		}
		counts = counts[n:]
		if c < 0 {
			i += uint64(-c)
			continue
		}
		shift := max(i>>half, 1) - 1
		if shift >= uint64(63-half) || h.n+uint64(c) > math.MaxInt64 {
			return errors.New("there is more in it than there can be")
		}
		if c > 0 {
			h.Add(int64((i-shift<<half)<<shift), uint64(c))
		}
		i++
	}
	return nil
}
