#include "base/number.h"

const gchar *number_digits(gchar digits[G_ASCII_DTOSTR_BUF_SIZE], guint precision, gdouble value)
{
	static const gchar *const formats[] = { "%.6g",	 "%.7g",  "%.8g",  "%.9g",
						"%.10g", "%.11g", "%.12g", "%.13g",
						"%.14g", "%.15g", "%.16g", "%.17g" };

	for (guint i = precision - 6; i < G_N_ELEMENTS(formats); i++) {
		g_ascii_formatd(digits, G_ASCII_DTOSTR_BUF_SIZE, formats[i], value);
		if (g_ascii_strtod(digits, NULL) == value)
			break;
	}
	return digits;
}
