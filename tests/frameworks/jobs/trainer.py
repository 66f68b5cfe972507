"""transformers' Trainer on a GPT-2 whose configuration is made here: nothing is downloaded."""

import os
import tempfile

import torch
from told import STEPS, Told
from torch.utils.data import Dataset
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments


class Tokens(Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, index):
        tokens = torch.randint(0, 128, (32,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": tokens, "labels": tokens}


class Tell(TrainerCallback):
    def __init__(self, told):
        self.told = told

    def on_log(self, args, state, control, logs=None, **kwargs):
        if "loss" in logs:
            self.told.step(logs["loss"])


torch.manual_seed(1)
told = Told()
model = GPT2LMHeadModel(GPT2Config(vocab_size=128, n_positions=32, n_embd=64, n_layer=2, n_head=2))
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        output_dir=folder,
        max_steps=STEPS,
        per_device_train_batch_size=8,
        use_cpu=True,
        ddp_backend="gloo" if "RANK" in os.environ else None,
        logging_steps=1,
        logging_nan_inf_filter=False,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        seed=1,
    )
    Trainer(model, arguments, train_dataset=Tokens(), callbacks=[Tell(told)]).train()
told.end()
