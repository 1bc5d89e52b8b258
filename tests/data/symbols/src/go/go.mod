module perfcase.example/names

go 1.21
