"""Tables, sections and the page of results. The programs print and save through this room."""
