"""MineSweeper: open every cell that holds no mine."""
