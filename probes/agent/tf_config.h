/* tf_config: a process's place in a TensorFlow cluster, by the variable TF_CONFIG, which is JSON:
 *
 *     {"cluster": {"worker": ["h0:1", "h1:1"], "ps": ["h2:1"]}, "task": {"type": "worker", "index": 1}}
 *
 * The ranks are those of the chief (or master), the workers, then the parameter servers. An evaluator has none. */
#ifndef TACHO_AGENT_TF_CONFIG_H
#define TACHO_AGENT_TF_CONFIG_H

/* Leaves both as they are where the text, which may be NULL, does not tell the rank. Takes no memory and no lock. */
void tf_config_read(const char *text, int *rank, int *world_size);

#endif
