
Z	/host:CPU)main" Ğ†" " ÷ÿÿÿÿÿÿÿÿ"	Enqueue*	_pt*_p
¿/device:TPU:3!Steps"
ÀšÀ„="
 ¬O 0XLA Modules"
ÀšÀ„=" " ÷ÿÿÿÿÿÿÿÿFXLA Ops"
ÀšÀÏ$"
¡ "
€ê0 "	 ÷6è"
ğı9Ğ†)Async XLA Ops"
 ÷6 "
ğı9 XLA TraceMe"	€Ì:è"

jit_f(1)"4"5")%%while.1 = long"while.1*	*while"2.%dot.2 = long"dot.2**convolution* €")%"all-reduce.3**
all-reduce* €"&""
copy-start**
copy-start* @""	copy-done**	copy-done"
wait*	_ct*_c*hlo_category*flops*bytes_accessed