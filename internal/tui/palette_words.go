package tui

// paletteWords are the texts of palettes.
type paletteWords struct {
	open    string
	folder  string // at the right of a place
	looking string
	nothing string // fits
}

func englishPalette() paletteWords {
	return paletteWords{open: "Open quickly", folder: "folder", looking: "looking for files…", nothing: "nothing fits"}
}

func chinesePalette() paletteWords {
	return paletteWords{open: "快速打开", folder: "文件夹", looking: "正在查找文件…", nothing: "没有匹配项"}
}
