# Run-time support for a program that counts its instructions in r15: per-thread storage for counts
# that are not in the register, and for the register of foreign callers.
#
# A foreign caller is a function of non-counting code (qsort, a thread library, MPI). It owns r15,
# and a counting function must restore it. So a counting function called from foreign code begins
# with tisim_enter_foreign and ends with tisim_leave_foreign. Both preserve all registers except r15,
# r11 and the flags.
	.set	MOST, 4096

	.section	.tbss,"awT",@nobits
	.p2align	4
foreign_count:			# number of entries
	.zero	8
foreign_entries:		# for each: the stack pointer at the entry of the function, r15, the
	.zero	32*MOST		# return address, and padding
	.hidden	elsewhere
elsewhere:			# instructions moved out of r15
	.zero	8

	.section	.tdata,"awT",@progbits
	.p2align	3
	.globl	tisim_foreign_stack
	.type	tisim_foreign_stack, @object
	.size	tisim_foreign_stack, 8
tisim_foreign_stack:		# the stack pointer of the last entry; the maximum if there is none
	.quad	-1

	.text
	.globl	tisim_enter_foreign
	.type	tisim_enter_foreign, @function
tisim_enter_foreign:
	pushq	%rax
	pushq	%rcx
	pushq	%rdx
	pushq	%rsi
	leaq	40(%rsp), %rax	# of the function's entry
	movq	foreign_count@gottpoff(%rip), %rdx
	addq	%fs:0, %rdx
	leaq	foreign_entries-foreign_count(%rdx), %rsi
	movq	(%rdx), %rcx
	# An entry of the same depth belongs to a function ended by an exception or a longjmp.
	testq	%rcx, %rcx
	jz	2f
	movq	%rcx, %r11
	shlq	$5, %r11
	cmpq	%rax, -32(%rsi,%r11)
	jne	1f
	decq	%rcx
1:	cmpq	$MOST, %rcx
	jb	2f
	ud2			# functions and callbacks are nested too deeply
2:	movq	%rcx, %r11
	shlq	$5, %r11
	movq	%rax, (%rsi,%r11)
	movq	%r15, 8(%rsi,%r11)
	movq	(%rax), %rax
	movq	%rax, 16(%rsi,%r11)
	leaq	40(%rsp), %rax
	incq	%rcx
	movq	%rcx, (%rdx)
	movq	tisim_foreign_stack@gottpoff(%rip), %r11
	movq	%rax, %fs:(%r11)
	xorl	%r15d, %r15d
	popq	%rsi
	popq	%rdx
	popq	%rcx
	popq	%rax
	ret
	.size	tisim_enter_foreign, .-tisim_enter_foreign

	.globl	tisim_leave_foreign
	.type	tisim_leave_foreign, @function
tisim_leave_foreign:
	pushq	%rax
	pushq	%rcx
	pushq	%rdx
	pushq	%rsi
	leaq	40(%rsp), %rax
	movq	foreign_count@gottpoff(%rip), %rdx
	addq	%fs:0, %rdx
	leaq	foreign_entries-foreign_count(%rdx), %rsi
	movq	(%rdx), %rcx
	# Entries above that of this function belong to functions ended by an exception; they may have
	# the same stack pointer, but not the same return address.
1:	testq	%rcx, %rcx
	jz	4f
	decq	%rcx
	movq	%rcx, %r11
	shlq	$5, %r11
	cmpq	%rax, (%rsi,%r11)
	jne	1b
	movq	(%rax), %rax
	cmpq	%rax, 16(%rsi,%r11)
	leaq	40(%rsp), %rax
	jne	1b
	addq	%r15, elsewhere-foreign_count(%rdx)
	movq	8(%rsi,%r11), %r15
	movq	%rcx, (%rdx)
	movq	$-1, %rax
	testq	%rcx, %rcx
	jz	3f
	movq	-32(%rsi,%r11), %rax
3:	movq	tisim_foreign_stack@gottpoff(%rip), %r11
	movq	%rax, %fs:(%r11)
4:	popq	%rsi
	popq	%rdx
	popq	%rcx
	popq	%rax
	ret
	.size	tisim_leave_foreign, .-tisim_leave_foreign

# Called before functions that restore r15 from memory, and before those that save it for that:
# setjmp, longjmp, throwing of exceptions.
	.globl	tisim_flush_count
	.type	tisim_flush_count, @function
tisim_flush_count:
	movq	elsewhere@gottpoff(%rip), %r11
	addq	%r15, %fs:(%r11)
	xorl	%r15d, %r15d
	ret
	.size	tisim_flush_count, .-tisim_flush_count

# For the recorder: the address of this thread's other count, and the range of counting code.
	.globl	tisim_counted_elsewhere
	.type	tisim_counted_elsewhere, @function
tisim_counted_elsewhere:
	movq	elsewhere@gottpoff(%rip), %rax
	addq	%fs:0, %rax
	ret
	.size	tisim_counted_elsewhere, .-tisim_counted_elsewhere

	.section	tisim_text,"ax",@progbits	# never empty, even if nothing else counts
	nop
	.text
	.hidden	__start_tisim_text
	.hidden	__stop_tisim_text
	.globl	tisim_is_counted
	.type	tisim_is_counted, @function
tisim_is_counted:		# whether an address is in counting code of the program
	xorl	%eax, %eax
	leaq	__start_tisim_text(%rip), %rdx
	cmpq	%rdx, %rdi
	jb	1f
	leaq	__stop_tisim_text(%rip), %rdx
	cmpq	%rdx, %rdi
	setb	%al
1:	ret
	.size	tisim_is_counted, .-tisim_is_counted
	.section	.note.GNU-stack,"",@progbits
