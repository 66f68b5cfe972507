/* random_stream: numbers that look random and follow from a seed: splitmix64 (G. Steele, D. Lea, C. Flood: Fast splittable
 * pseudorandom number generators, 2014). Streams of different numbers do not overlap in any length that matters. */
#ifndef TACHO_RANDOM_STREAM_H
#define TACHO_RANDOM_STREAM_H

#include <glib.h>

struct random_stream {
	guint64 state;
};

static inline guint64 random_stream_next(struct random_stream *stream)
{
	guint64 z = stream->state += G_GUINT64_CONSTANT(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * G_GUINT64_CONSTANT(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * G_GUINT64_CONSTANT(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static inline struct random_stream random_stream_of(guint64 seed, guint64 number)
{
	struct random_stream stream = { seed };

	stream.state = random_stream_next(&stream) + number;
	random_stream_next(&stream);
	return stream;
}

/* Below `n`, which is not 0. */
static inline guint32 random_stream_below(struct random_stream *stream, guint32 n)
{
	return (guint32)((random_stream_next(stream) >> 32) * n >> 32);
}

/* At least 0, and below 1. */
static inline gdouble random_stream_share(struct random_stream *stream)
{
	return (gdouble)(random_stream_next(stream) >> 11) * 0x1p-53;
}

#endif
