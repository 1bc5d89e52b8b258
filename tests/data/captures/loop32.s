# A program of 32 bits that never passes more than 32 bits: getpid, write(1, "", 0), nanosleep(10 ms), for ever.
.globl _start
_start:
	movl $20, %eax
	int $0x80
	movl $4, %eax
	movl $1, %ebx
	movl $pause, %ecx
	xorl %edx, %edx
	int $0x80
	movl $162, %eax
	movl $pause, %ebx
	xorl %ecx, %ecx
	int $0x80
	jmp _start
.data
pause: .long 0, 10000000
