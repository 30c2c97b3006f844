HELLO = "hello"
