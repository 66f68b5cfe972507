/* order: how two values compare, for functions that sort. Keys are joined by "?:", the first that differs decides:
 *
 *     return ORDER(x->rank, y->rank) ?: ORDER(x->begin_ns, y->begin_ns); */
#ifndef TACHO_ORDER_H
#define TACHO_ORDER_H

/* -1, 0 or 1: `a` comes before `b`, is the same, comes after it. Both are evaluated twice. */
#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

#endif
