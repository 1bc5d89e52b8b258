# A program of 32 bits that calls the kernel through the vDSO (AT_SYSINFO, entry 32 of the auxiliary vector) 400,000 times.
.globl _start
_start:
	movl (%esp), %ecx
	leal 8(%esp,%ecx,4), %esi	# the environment, behind argc and the arguments
1:	lodsl
	testl %eax, %eax
	jnz 1b
2:	lodsl
	movl %eax, %ecx
	lodsl
	testl %ecx, %ecx
	jz 4f
	cmpl $32, %ecx
	jne 2b
	movl %eax, %edi
	movl $400000, %esi
3:	movl $20, %eax
	call *%edi
	decl %esi
	jnz 3b
4:	movl $1, %eax
	xorl %ebx, %ebx
	int $0x80
