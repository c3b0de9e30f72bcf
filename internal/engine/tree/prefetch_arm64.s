#include "textflag.h"

// func prefetchHeads(at unsafe.Pointer, n int, last uintptr)
TEXT ·prefetchHeads(SB), NOSPLIT, $0-24
	MOVD at+0(FP), R0
	MOVD n+8(FP), R1
	MOVD last+16(FP), R3
	ADD  R1<<3, R0, R1
loop:
	CMP  R1, R0
	BHS  done
	MOVD (R0), R2
	PRFM (R2), PLDL1KEEP
	ADD  R3, R2
	PRFM (R2), PLDL1KEEP
	ADD  $8, R0
	B    loop
done:
	RET

// func prefetchLeaf(l unsafe.Pointer)
TEXT ·prefetchLeaf(SB), NOSPLIT, $0-8
	MOVD l+0(FP), R0
	PRFM (R0), PLDL1KEEP
	PRFM 64(R0), PLDL1KEEP
	PRFM 128(R0), PLDL1KEEP
	PRFM 192(R0), PLDL1KEEP
	RET
