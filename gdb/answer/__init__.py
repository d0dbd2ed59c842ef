"""What an answer is: its rows and columns, its elements, its summary, and what they can be made."""
