#include "textflag.h"

// func prefetchHeads(at unsafe.Pointer, n int, last uintptr)
TEXT ·prefetchHeads(SB), NOSPLIT, $0-24
	MOVQ at+0(FP), AX
	MOVQ n+8(FP), CX
	MOVQ last+16(FP), BX
	LEAQ (AX)(CX*8), CX
loop:
	CMPQ AX, CX
	JAE  done
	MOVQ (AX), DX
	PREFETCHT0 (DX)
	PREFETCHT0 (DX)(BX*1)
	ADDQ $8, AX
	JMP  loop
done:
	RET

// func prefetchLeaf(l unsafe.Pointer)
TEXT ·prefetchLeaf(SB), NOSPLIT, $0-8
	MOVQ l+0(FP), AX
	PREFETCHT0 (AX)
	PREFETCHT0 64(AX)
	PREFETCHT0 128(AX)
	PREFETCHT0 192(AX)
	RET
