"""Texts that people put where a page prints them to make it run something, hide something or break."""

from __future__ import annotations

# Each sets `window.pwned` if a browser ever runs it.
MARKUP = (
    "<script>window.pwned=1</script>",
    "</script><script>window.pwned=1</script>",
    "<img src=x onerror=window.pwned=1>",
    "<svg onload=window.pwned=1>",
    "<svg><script>window.pwned=1</script></svg>",
    "<iframe srcdoc='<script>parent.pwned=1</script>'></iframe>",
    "<a href='javascript:window.pwned=1'>x</a>",
    "<form action=/p/x><button>x</button></form>",
    "<details open ontoggle=window.pwned=1>",
    "<body onload=window.pwned=1>",
    "<style>*{display:none}</style>",
    "<link rel=stylesheet href=//127.0.0.1:1/x.css>",
    "<meta http-equiv=refresh content='0;url=/health'>",
    "<base href='http://127.0.0.1:1/'>",
    "</textarea><script>window.pwned=1</script>",
    "</title><script>window.pwned=1</script>",
    "</pre></main><h1>gone</h1>",
    "<!-- <script>window.pwned=1</script> -->",
    "<![CDATA[<script>window.pwned=1</script>]]>",
    "<template><script>window.pwned=1</script></template>",
    "<math><mtext><table><mglyph><style><img src=x onerror=window.pwned=1>",
    "<div hx-get=/health hx-trigger=load></div>",
    "<div data-hx-post=/p/x/index hx-trigger=load></div>",
    "<button data-copy=x data-help>x</button>",
    "<input autofocus onfocus=window.pwned=1>",
    "<object data='javascript:window.pwned=1'>",
    "<dialog open>x</dialog>",
)
ATTRIBUTES = (
    '" onmouseover="window.pwned=1',
    "' onmouseover='window.pwned=1",
    '"><script>window.pwned=1</script>',
    "'><img src=x onerror=window.pwned=1>",
    "` onmouseover=window.pwned=1 `",
    "x' hx-get='/health' hx-trigger='load",
)
ADDRESSES = (
    "javascript:window.pwned=1",
    "data:text/html,<script>window.pwned=1</script>",
    "//127.0.0.1:1/evil",
    "..\\..\\etc\\passwd",
    "../../../../etc/passwd",
    "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "?q=1&in=x#L1",
)
TEMPLATES = ("{{ 7*7 }}", "{% for x in y %}", "${7*7}", "{{constructor.constructor('window.pwned=1')()}}", "<%= 7*7 %>")
UNSEEN = (
    "user\u202e// txt.exe\u202c",
    "\u2066hidden\u2069",
    "zero\u200bwidth\u200d",
    "bell\x07 escape\x1b[31mred\x1b[0m",
    "back\x08space\x7f",
    "tag\U000e0041\U000e0042",
    "line\u2028separator",
    "\ufeffmark",
    "soft\u00adhyphen",
)
HOSTILE = (*MARKUP, *ATTRIBUTES, *ADDRESSES, *TEMPLATES, *UNSEEN)
# What must never arrive as it is in a text that a person reads.
UNSEEN_CHARACTERS = "\u202e\u202c\u2066\u2069\u200b\u200d\x07\x1b\x08\x7f\U000e0041\u2028\ufeff\u00ad"
