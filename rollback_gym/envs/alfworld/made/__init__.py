"""What the generator makes its worlds from: rooms, furniture, objects, and PDDL."""
