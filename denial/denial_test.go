package denial

import (
	"fmt"
	"io/fs"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/letta-confine/letta-confine/policy"
)

// tree is a host: directories end in a slash, everything may be done to it.
type tree []string

func (t tree) Lstat(name string) (policy.Info, error) {
	for _, file := range t {
		if file == name {
			return policy.Info{Kind: policy.File}, nil
		}
		if name == "/" || strings.HasPrefix(file, name+"/") {
			return policy.Info{Kind: policy.Dir}, nil
		}
	}
	return policy.Info{}, fs.ErrNotExist
}

func (t tree) Readlink(string) (string, error) { return "", fs.ErrInvalid }
func (t tree) Replaceable(string) bool         { return false }

func (t tree) Facts(p string) Facts {
	info, err := t.Lstat(p)
	return Facts{Kind: info.Kind, Readable: err == nil, Writable: err == nil}
}

var host = tree{"/h/agents/alice/m", "/h/agents/bob/m", "/h/f", "/w/f", "/w/kept/f", "/o/f", "/o/a b"}

func lines(f func(int) string, n int) (list []string) {
	for i := range n {
		list = append(list, f(i))
	}
	return list
}

func TestChange(t *testing.T) {
	denied := policy.Policy{Denied: []string{"/h/agents"}, Writable: []string{"/h/agents/alice"}}
	restricted := policy.Policy{RestrictWrites: true, Denied: []string{"/h/agents"}, ReadOnly: []string{"/w/kept"}, Writable: []string{"/w"}}
	tests := []struct {
		p    policy.Policy
		path string
		op   Op
		want []string
	}{
		{denied, "/h/agents/bob/m", Read, []string{`add --read-only "/h/agents/bob/m"`}},
		{denied, "/h/agents/bob/m", Write, []string{`add --writable "/h/agents/bob/m"`}},
		{denied, "/h/agents", List, []string{`remove "/h/agents" from deniedRoots`}},
		{denied, "/h/agents/alice/m", Write, nil},
		{restricted, "/o/f", Read, nil},
		{restricted, "/o/f", Write, []string{`add --writable "/o/f"`}},
		{restricted, "/o/f", Delete, []string{`add --writable "/o"`}},
		{restricted, "/o/new/deep", Create, []string{`add --writable "/o"`}},
		{restricted, "/w/kept", Rename, []string{`remove "/w/kept" from readonlyRoots`}},
		{restricted, "/w/kept/f", Write, []string{`add --writable "/w/kept/f"`}},
		{restricted, "/w", Delete, []string{"leave out --restrict-writes", `add --writable "/w/kept"`}},
		{restricted, "/new", Create, []string{"leave out --restrict-writes"}},
		{restricted, "/h/agents", Rename, []string{`remove "/h/agents" from deniedRoots`, `add --writable "/h"`}},
		{policy.Policy{RestrictWrites: true, Denied: []string{"/h/", "/h", "/h/f"}}, "/h", List, []string{`remove "/h/" from deniedRoots`}},
	}
	for _, tt := range tests {
		before := fmt.Sprint(tt.p)
		edits := Change(tt.p, host, Wish{tt.path, tt.op})
		got := lines(func(i int) string { return edits[i].String() }, len(edits))
		if !slices.Equal(got, tt.want) {
			t.Errorf("Change(%+v, %s, %s) = %q, want %q", tt.p, tt.path, tt.op, got, tt.want)
		}
		if fmt.Sprint(tt.p) != before {
			t.Errorf("Change(%s, %s) changed the policy itself", tt.path, tt.op)
		}
	}
}

// What programs of many kinds say, in many languages, of the same denial.
func TestJudgeTexts(t *testing.T) {
	p := policy.Policy{RestrictWrites: true, Denied: []string{"/h/agents"}, Writable: []string{"/w"}}
	r, err := policy.Resolve(p, host)
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ backend, line, path string }{
		{"bwrap", "cat: /h/agents/bob/m: No such file or directory", "/h/agents/bob/m"},
		{"bwrap", "cat: ../h/agents/bob/m: Datei oder Verzeichnis nicht gefunden", "/h/agents/bob/m"},
		{"bwrap", "ls: Zugriff auf '/h/agents/bob' nicht möglich: Datei oder Verzeichnis nicht gefunden", "/h/agents/bob"},
		{"bwrap", "rm: impossible de supprimer «\u00a0/o/f\u00a0»: Système de fichiers accessible en lecture seulement", "/o/f"},
		{"bwrap", "rm: '/o/f' を削除できません: 読み込み専用ファイルシステムです", "/o/f"},
		{"bwrap", "rm: 无法删除'/o/f': 只读文件系统", "/o/f"},
		{"bwrap", "sh: 1: cannot create /o/new: Read-only file system", "/o/new"},
		{"bwrap", "sh: 1: cannot create /h/agents/bob/new: Directory nonexistent", "/h/agents/bob/new"},
		{"bwrap", "sh: 1: /h/agents/bob/m: not found", "/h/agents/bob/m"},
		{"bwrap", "bash: line 1: /o/f: Read-only file system", "/o/f"},
		{"bwrap", "tee: /o/a b: Read-only file system", "/o/a b"},
		{"bwrap", "OSError: [Errno 30] Read-only file system: '/o/f'", "/o/f"},
		{"bwrap", "open /o/f: read-only file system", "/o/f"},
		{"bwrap", "Error: EROFS: read-only file system, open '/o/f'", "/o/f"},
		{"bwrap", "error: failed to write `/o/f`: Read-only file system (os error 30)", "/o/f"},
		{"bwrap", "Can't open '/o/f': Read-only file system at -e line 1.", "/o/f"},
		{"bwrap", "java.io.FileNotFoundException: /o/f (Read-only file system)", "/o/f"},
		{"bwrap", "mv: cannot move '/w/kept' to '/w/k': Device or resource busy", ""},
		{"bwrap", "ln: failed to create hard link '/w/x' => '/o/f': Invalid cross-device link", "/o/f"},
		{"bwrap", "Error: EXDEV: cross-device link not permitted, link '/o/f' -> '/w/x'", "/o/f"},
		{"bwrap", "cat: /o/f: Permission denied", ""},
		{"bwrap", "cat: /h/agents/bob/none: No such file or directory", ""},
		{"bwrap", "program: Operation not permitted", ""},
		{"bwrap", "/o/f", ""},
		{"landlock", "cat: /h/agents/bob/m: Permission denied", "/h/agents/bob/m"},
		{"landlock", "cat: /h/agents/bob/m: Отказано в доступе", "/h/agents/bob/m"},
		{"landlock", "PermissionError: [Errno 13] Permission denied: '/h/agents/bob/m'", "/h/agents/bob/m"},
		{"landlock", "Error: EACCES: permission denied, scandir '/h/agents'", "/h/agents"},
		{"landlock", "/h/agents/bob/m: errno=13", "/h/agents/bob/m"},
		{"landlock", "touch: cannot touch '/o/new': Permission denied", "/o/new"},
		{"landlock", "cat: /h/agents/bob/m: No such file or directory", ""},
		{"landlock", "chmod: changing permissions of '/o/f': Permission denied", ""},
		{"landlock", "touch: cannot touch '/o/f': Operation not permitted", ""},
		{"landlock", "git@example.org: Permission denied (publickey).", ""},
		{"landlock", "sh: 1: /o/f: Permission denied", ""},
		{"landlock", "cat: /w/f: Permission denied", ""},
		{"seatbelt", "cat: /h/agents/bob/m: Operation not permitted", "/h/agents/bob/m"},
		{"seatbelt", "chmod: Unable to change file mode on /o/f: Operation not permitted", "/o/f"},
		{"seatbelt", "cat: /h/agents/bob/m: Permission denied", ""},
	}
	for _, tt := range tests {
		got := ""
		if claims := Judge(r, tt.backend, "/w", host, Scan(tt.line+"\n")); len(claims) > 0 {
			got = claims[0].Path
		}
		if got != tt.path {
			t.Errorf("%s said %q: claims %q, want %q", tt.backend, tt.line, got, tt.path)
		}
	}
}

// The common languages, in the C library's words (glibc 2.43): the place of a mask,
// a read-only mount, Landlock's refusal, and a link from one mount to another.
func TestJudgeLanguages(t *testing.T) {
	p := policy.Policy{RestrictWrites: true, Denied: []string{"/h/agents"}, Writable: []string{"/w"}}
	r, err := policy.Resolve(p, host)
	if err != nil {
		t.Fatal(err)
	}
	for language, texts := range map[string][4]string{ // of ENOENT, EROFS, EACCES, EXDEV
		"de":    {"Datei oder Verzeichnis nicht gefunden", "Das Dateisystem ist nur lesbar", "Keine Berechtigung", "Ungültiger Link über Gerätegrenzen hinweg"},
		"fr":    {"Aucun fichier ou dossier de ce nom", "Système de fichiers accessible en lecture seulement", "Permission non accordée", "Lien physique inter-périphérique invalide"},
		"es":    {"No existe el fichero o el directorio", "Sistema de ficheros de sólo lectura", "Permiso denegado", "Enlace cruzado entre dispositivos no permitido"},
		"it":    {"File o directory non esistente", "File system in sola lettura", "Permesso negato", "Collegamento tra dispositivi non valido"},
		"pt":    {"Ficheiro ou pasta inexistente", "Sistema de ficheiros só de leitura", "Permissão recusada", "Ligação entre dispositivos inválida"},
		"pt_BR": {"Arquivo ou diretório inexistente", "Sistema de arquivos somente para leitura", "Permissão negada", "Link entre dispositivos inválido"},
		"ja":    {"そのようなファイルやディレクトリはありません", "読み込み専用ファイルシステムです", "許可がありません", "無効なクロスデバイスリンクです"},
		"zh_CN": {"没有那个文件或目录", "只读文件系统", "权限不够", "无效的跨设备链接"},
		"zh_TW": {"沒有此一檔案或目錄", "唯讀的檔案系統", "拒絕不符權限的操作", "不適用的裝置間連結"},
		"ru":    {"Нет такого файла или каталога", "Файловая система доступна только для чтения", "Отказано в доступе", "Неверная ссылка между устройствами"},
	} {
		for _, tt := range []struct{ backend, line, path string }{
			{"bwrap", "cat: /h/agents/bob/m: " + texts[0], "/h/agents/bob/m"},
			{"bwrap", "tee: /o/f: " + texts[1], "/o/f"},
			{"bwrap", "rm: xx '/o/f': " + texts[1], "/o/f"},
			{"landlock", "cat: /h/agents/bob/m: " + texts[2], "/h/agents/bob/m"},
			{"bwrap", "ln: xx '/w/x' => '/o/f': " + texts[3], "/o/f"},
			{"landlock", "mv: xx '/o/f' yy '/w/x': " + texts[3], "/o/f"},
			{"landlock", "cat: /h/agents/bob/m: " + texts[0], ""},
			{"bwrap", "cat: /w/f: " + texts[1], ""},
		} {
			got := ""
			if claims := Judge(r, tt.backend, "/w", host, Scan(tt.line+"\n")); len(claims) > 0 {
				got = claims[0].Path
			}
			if got != tt.path {
				t.Errorf("%s: %s said %q: claims %q, want %q", language, tt.backend, tt.line, got, tt.path)
			}
		}
	}
}

// A pinned directory cannot be moved, though the policy lets it be written.
func TestJudgePinned(t *testing.T) {
	p := policy.Policy{ReadOnly: []string{"/w/kept/f"}}
	r, err := policy.Resolve(p, host)
	if err != nil {
		t.Fatal(err)
	}
	claims := Judge(r, "bwrap", "/", host, Scan("mv: cannot move '/w/kept' to '/w/k': Device or resource busy"))
	if len(claims) != 1 || claims[0].At != "/w/kept/f" || claims[0].Path != "/w/kept" {
		t.Errorf("claims %+v, want /w/kept because of /w/kept/f", claims)
	}
}

func TestNearest(t *testing.T) {
	p := policy.Policy{RestrictWrites: true, Writable: []string{"/w", "/h/agents/alice"}}
	r, err := policy.Resolve(p, host)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"/h/agents/bob/m": "/h/agents/alice", "/w/x": "/w", "/h/f": "/h/agents/alice"} {
		if got := Nearest(r, path); got == nil || got.Path != want {
			t.Errorf("Nearest(%q) = %v, want %q", path, got, want)
		}
	}
}

// No text stands for two errors, or a line would be judged by chance.
func TestTextsDiffer(t *testing.T) {
	seen := map[string]Errno{}
	for _, e := range errnos {
		for _, text := range e.texts {
			if other, ok := seen[text]; ok {
				t.Errorf("%q is %s and %s", text, other, e.name)
			}
			seen[text] = e.name
		}
	}
}

// Any text has an answer, and each claim is of a path that the policy denies.
func FuzzJudge(f *testing.F) {
	f.Add("rm: cannot remove '/o/f': Read-only file system")
	f.Add("«\u00a0/o/f\u00a0» „x“: Keine Berechtigung EACCES [Errno 13]")
	r, err := policy.Resolve(policy.Policy{RestrictWrites: true, Denied: []string{"/h"}}, host)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, backend := range []string{"bwrap", "landlock", "seatbelt"} {
			for _, c := range Judge(r, backend, "/w", host, Scan(text)) {
				if at, _, blocked := Blocked(r, c.Path, c.Op); c.Op != Rename && (!blocked || at != c.At) {
					t.Errorf("%s claims %+v, which the policy allows", backend, c)
				}
			}
		}
	})
}

func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{join .Imports "\n"}}`, ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	allowed := []string{"fmt", "path", "slices", "strings", "unicode", "unicode/utf8", "github.com/letta-confine/letta-confine/policy"}
	for _, imp := range strings.Fields(string(out)) {
		if !slices.Contains(allowed, imp) {
			t.Errorf("denial imports %q; allowed are %q", imp, allowed)
		}
	}
}
