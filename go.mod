module termio

go 1.26.0
