"""Sokoban: push every box onto a target, in the rooms of RetroAgent, verl-agent, RAGEN, gym-sokoban and Boxoban."""
