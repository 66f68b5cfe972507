"""What a program says to `tacho record`: see tacho.mark."""
