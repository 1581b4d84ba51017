"""The page that tells the story, as HTML and as Markdown."""
