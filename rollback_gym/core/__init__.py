"""The contract every environment keeps: simulator, snapshot, history, and the Gymnasium shell."""
