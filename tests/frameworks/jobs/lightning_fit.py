"""Lightning: a module and a Trainer, two processes on the CPU."""

import lightning
import torch
from told import RANK, STEPS, Told, mlp
from torch.utils.data import DataLoader, Dataset


class Samples(Dataset):
    def __len__(self):
        return 4096

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        return torch.randn(256, generator=generator), index % 10


class Net(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = mlp()
        self.told = Told()

    def training_step(self, batch, index):
        x, y = batch
        return torch.nn.functional.cross_entropy(self.net(x), y)

    def on_train_batch_end(self, outputs, batch, index):
        self.told.step(outputs["loss"])

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


lightning.seed_everything(1, verbose=False)
net = Net()
trainer = lightning.Trainer(
    accelerator="cpu",
    devices=2,
    strategy="ddp",
    max_steps=STEPS,
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(net, DataLoader(Samples(), batch_size=16))
net.told.end()
