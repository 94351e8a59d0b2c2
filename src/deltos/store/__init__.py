"""What is kept, in the words of those who keep it: rows and protocols. `store.sqlite` fulfils them."""
