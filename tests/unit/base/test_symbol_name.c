#include "base/symbol_name.h"

#include <string.h>

static void test_one(void)
{
	static const struct {
		const gchar *name, *expected;
	} names[] = {
		{ "void at::native::vectorized_elementwise_kernel<4, "
		  "at::native::CUDAFunctor_add<float>, "
		  "at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>)",
		  "vectorized_elementwise_kernel" },
		{ "at::cuda::(anonymous namespace)::spin_kernel(long)", "spin_kernel" },
		{ "void (anonymous namespace)::softmax<float, (int)5>(float*)", "softmax" },
		{ "std::enable_if<!(false), void>::type internal::gemvx::reduce<int, float, "
		  "gemvNSP<int>(float const&)>(int)",
		  "reduce" },
		{ "void at::native::elementwise_kernel<128, 2, at::native::gpu_impl<A<float> >"
		  "(at::Base&, A<float> const&)::{lambda(int)#1}>(int, bool)",
		  "elementwise_kernel" },
		{ "void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm>(cutlass::Params)",
		  "Kernel2<cutlass_80_tensorop_f16_s16816gemm>" },
		{ "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*, unsigned long)",
		  "ncclDevKernel_AllReduce_Sum_f32_RING_LL" },
		{ "ampere_sgemm_128x64_nn", "ampere_sgemm_128x64_nn" },
		{ "Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pageable -> Device)" },
		{ "Memset (Device)", "Memset (Device)" },
		{ "void cut::off<4, at::nat",
		  "void cut::off<4, at::nat" }, /* as some tools cut them */
		{ "aten::mm", "aten::mm" },	/* an operation */
		{ "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
		  "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__" },
		{ "train.py(12): main", "train.py(12): main" },
		{ "between operations", "between operations" },
		{ "triton_poi_fused_add_0d1d2d", "triton_poi_fused_add_0d1d2d" },
		{ "Functor::operator()(int) const", "operator()" },
		{ "bool ns::operator< <int>(int)", "bool ns::operator< <int>(int)" },
		{ "a)b", "a)b" },
		{ "<>", "<>" },
		{ "::", "::" },
		{ "f((", "f((" },
		{ "", "" },
	};

	for (guint i = 0; i < G_N_ELEMENTS(names); i++) {
		g_autofree gchar *text = symbol_name_short(names[i].name);

		g_assert_cmpstr(text, ==, names[i].expected);
	}
}

static void expect(const gchar *const *names, const gchar *const *expected)
{
	g_autoptr(GPtrArray) all = g_ptr_array_new();
	g_autoptr(GPtrArray) shorts = NULL;

	for (guint i = 0; names[i]; i++)
		g_ptr_array_add(all, (gpointer)names[i]);
	shorts = symbol_names_short(all);
	for (guint i = 0; names[i]; i++)
		g_assert_cmpstr(g_ptr_array_index(shorts, i), ==, expected[i]);
}

#define LIST(...) ((const gchar *const[]){ __VA_ARGS__, NULL })

static void test_several(void)
{
	/* In what they differ; the same name twice is the same. */
	expect(LIST("void a::k<4, a::Add<float>, x>(int)", "void a::k<4, a::Mul<float>, x>(int)",
		    "void a::k<4, a::Add<float>, x>(int)", "void a::other<1>(int)"),
	       LIST("k<Add<float>>", "k<Mul<float>>", "k<Add<float>>", "other"));
	/* A function's name is shown without parameters and lambdas, if that is enough to tell the
	 * functions apart. */
	expect(LIST("void k<2, a::impl<a::Add<float> >(a::It&, a::Add<float> "
		    "const&)::{lambda(int)#1}>(int)",
		    "void k<2, a::impl<a::copy(a::It&)::{lambda()#2}::operator()() "
		    "const>(a::It&)>(int)",
		    "void k<3, a::impl<a::Add<float> >(a::It&, a::Add<float> "
		    "const&)::{lambda(int)#1}>(int)"),
	       LIST("k<2, impl<Add<float>>>", "k<2, impl<copy>>", "k<3, impl<Add<float>>>"));
	expect(LIST("void k<1>(int)", "void k<1, 2>(int)"), LIST("k<1>", "k<1, 2>"));
	/* Not in arguments: whole. */
	expect(LIST("a::k(int)", "b::k(int)"), LIST("a::k(int)", "b::k(int)"));
	expect(LIST("void k<a::X>()", "void k<b::X>()"), LIST("void k<a::X>()", "void k<b::X>()"));
	expect(LIST("a::k(int)", "k"), LIST("a::k(int)", "k"));
}

/* Whatever is in names: no crash, and different names stay different. */
static void test_random(void)
{
	static const gchar *const pieces[] = { "a",
					       "::",
					       "<",
					       ">",
					       "(",
					       ")",
					       " ",
					       ",",
					       "{",
					       "}",
					       "operator",
					       "void ",
					       "(anonymous namespace)",
					       "->" };

	for (guint round = 0; round < 2000; round++) {
		g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
		g_autoptr(GPtrArray) shorts = NULL;

		for (guint i = 0; i < 4; i++) {
			GString *name = g_string_new(NULL);
			gint n = g_test_rand_int_range(0, 12);

			while (n-- > 0)
				g_string_append(
					name,
					pieces[g_test_rand_int_range(0, G_N_ELEMENTS(pieces))]);
			g_ptr_array_add(names, g_string_free(name, FALSE));
		}
		shorts = symbol_names_short(names);
		for (guint i = 0; i < 4; i++)
			for (guint k = 0; k < i; k++)
				g_assert_cmpint(strcmp(g_ptr_array_index(names, i),
						       g_ptr_array_index(names, k)) == 0,
						==,
						strcmp(g_ptr_array_index(shorts, i),
						       g_ptr_array_index(shorts, k)) == 0);
	}
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/symbol_name/one", test_one);
	g_test_add_func("/symbol_name/several", test_several);
	g_test_add_func("/symbol_name/random", test_random);
	return g_test_run();
}
