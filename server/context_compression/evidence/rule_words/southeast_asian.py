"""Rule words of the languages of South-East Asia."""

from context_compression.evidence.rule_words.language import Language

LANGUAGES = (
    Language(
        "Indonesian and Malay",
        sure="mulai (?:sekarang|hari ini|saat ini|kini)|sejak (?:sekarang|saat ini)"
        "|mulai dari sekarang|ke depannya|seterusnya|selanjutnya (?:selalu|jangan|hanya)"
        "|dalam keadaan apa ?pun|dalam kondisi apa ?pun|dengan alasan apa ?pun"
        "|apa ?pun yang terjadi|tanpa (?:kecuali|pengecualian)|(?:dilarang|terlarang|haram)"
        "|tidak (?:boleh|diizinkan|diperbolehkan|dibenarkan)|tak boleh|nggak boleh|ngga boleh"
        r"|gak boleh|jangan(?: \w+)?|janganlah|usah"
        "|(?:harus|wajib|mesti|perlu) (?:selalu|hanya|tetap|selalu)"
        "|(?:harus|wajib|mesti) … (?:selalu|hanya|tanpa|di|dengan|pakai)"
        "|(?:selalu|hanya) (?:boleh|harus|gunakan|pakai|tulis|jawab|jalankan)|pastikan"
        "|ingat (?:untuk|bahwa|selalu|jangan)|tanpa (?:izin|bertanya|persetujuan)|setiap kali"
        "|biarkan … (?:apa adanya|saja|tetap|begitu)|hindari|jauhi|patuhi"
        "|sama sekali (?:jangan|tidak)|mohon (?:jangan|selalu|hanya)"
        "|tolong (?:jangan|selalu|hanya)|mulakan dari sekarang",
        first="jangan|selalu|sentiasa|senantiasa|hanya|cuma|tidak pernah|wajib"
        r"|gunakan … (?:hanya|selalu|setiap)|semua \w+ (?:harus|wajib)",
        maybe="jangan|selalu|sentiasa|hanya|harus|wajib|mesti|perlu|sebaiknya|seharusnya"
        "|tidak pernah|daripada|sebagai ganti|setidaknya|paling (?:sedikit|banyak)",
        start="setiap|tiap|semua|seluruh|segala",
        asks="tolong|mohon|silakan|sila|kamu|anda|bisakah|ya",
        common="yang dan di ini itu dengan untuk dari ke pada tidak ada dalam akan juga saya "
        "adalah bisa atau",
    ),
    Language(
        "Javanese and Sundanese",
        sure="wiwit saiki|mulai saiki|ojo|aja (?:nganti|pisan|nyekel|ngowahi|mbusak|nggawe|nulis)"
        "|ora kena|ora oleh|kudu tansah|ti ayeuna"
        "|ulah (?:waka|pisan|dugi|nyabak|ngarobah|ngahapus|make)|teu kenging|teu meunang",
        first="tansah|mung|salawasna|ngan|ulah|aja",
        maybe="kudu|kedah",
        start="saben|unggal",
        asks="mangga|tulung|punten",
        common="sing lan ing iki kuwi karo kanggo saka menyang ora nu jeung di ieu eta pikeun tina "
        "ka",
    ),
    Language(
        "Vietnamese",
        sure="từ (?:nay|giờ|bây giờ|hôm nay|đây)(?: trở đi| về sau)?"
        "|kể từ (?:nay|bây giờ|giờ|hôm nay)|sau này|trong mọi (?:trường hợp|tình huống|hoàn cảnh)"
        r"|trong bất (?:kỳ|cứ) \w+|bằng mọi giá|dù (?:thế nào|sao) đi nữa"
        "|không (?:bao giờ|được|được phép|nên|ai được|hề được)|không có ngoại lệ|tuyệt đối"
        r"|nghiêm cấm|bị cấm|cấm|chớ|đừng(?: \w+)?|(?:phải|cần|hãy|nên) (?:luôn|chỉ|luôn luôn)"
        "|luôn (?:luôn )?(?:phải|dùng|sử dụng|viết|trả lời|giữ|chạy|để|đặt)"
        "|chỉ (?:được|dùng|sử dụng|sửa|viết|thay đổi|trả lời)|bắt buộc"
        "|hãy (?:chắc chắn|đảm bảo|nhớ)|đảm bảo|bảo đảm|nhớ (?:là|rằng|phải|luôn|đừng)"
        "|mỗi (?:lần|khi)|khi chưa (?:hỏi|được)|để nguyên|giữ nguyên|tránh|xin đừng"
        "|vui lòng (?:không|đừng|luôn|chỉ)|tuân (?:theo|thủ)|cứ mỗi|khong (?:duoc|bao gio|nen)"
        "|dung bao gio|tu nay",
        first="luôn|luôn luôn|chỉ|đừng|hãy|dùng … (?:cho mọi|cho tất cả|thay)|viết … bằng"
        "|trả lời bằng",
        maybe="luôn luôn|luôn|chỉ|phải|cần phải|nên|bắt buộc|thay vì|thay cho|ít nhất|tối đa"
        "|tối thiểu",
        start="mỗi|mọi|tất cả|khi nào",
        asks="làm ơn|vui lòng|xin|bạn|anh|em|nhé",
        common="và của là có không được trong cho với này các một những đã để khi từ cũng như thì "
        "ở ra",
        folds=False,
    ),
    Language(
        "Thai and Lao",
        sure="ตั้งแต่(?:นี้|บัดนี้|วันนี้|ตอนนี้)|นับจาก(?:นี้|วันนี้)|นับแต่นี้|จากนี้(?:ไป|เป็นต้นไป)|ต่อจากนี้|ต่อไปนี้|ในอนาคต"
        "|ไม่ว่า(?:กรณี|จะ|ใน|อย่าง)|โดยเด็ดขาด|เด็ดขาด|ไม่มีข้อยกเว้น|ห้าม|อย่า(?!ง)|ต้องไม่|ไม่(?:ควร|อนุญาต|ให้)"
        "|ไม่สามารถ…ได้|ต้อง(?:เสมอ|ใช้|เป็น|มี|ทำ|เขียน|ตอบ|ขึ้นต้น|เริ่ม)|ต้อง…(?:เสมอ|เท่านั้น|ทุกครั้ง)"
        "|ให้…(?:เสมอ|เท่านั้น|ทุกครั้ง)|…เท่านั้น$|เสมอ$|ทุกครั้ง(?:ที่)?|ตลอดไป|จงอย่า|งดเว้น|หลีกเลี่ยง"
        "|ปล่อย…(?:ไว้|ตามเดิม)|ตรวจสอบให้แน่ใจ|อย่าลืม|กรุณา(?:อย่า|ใช้|ตอบ|เขียน)"
        "|โปรด(?:อย่า|ใช้|ตอบ|เขียน|ระวัง)|บังคับ|โดยไม่(?:ถาม|ได้รับอนุญาต)|แต่นี้ไป|ตั้งแต่นี้ต่อไป|ແຕ່ນີ້|ຕັ້ງແຕ່ນີ້|ຫ້າມ"
        "|ຢ່າ|ຕ້ອງບໍ່",
        maybe="เสมอ|เท่านั้น|ต้อง|ควร|จำเป็น|แทนที่|อย่างน้อย|ไม่เกิน|ສະເໝີ|ເທົ່ານັ້ນ|ຕ້ອງ",
        start="ทุก|แต่ละ|ทั้งหมด|ທຸກ",
        asks="กรุณา|โปรด|คุณ|ช่วย|ครับ|ค่ะ",
    ),
    Language(
        "Khmer and Burmese",
        sure="ចាប់ពីពេលនេះ|ចាប់ពីឥឡូវ|ពីពេលនេះតទៅ|កុំ|ហាម|មិនត្រូវ|មិនអនុញ្ញាត|ជានិច្ច|ជាដាច់ខាត|ယခုမှစ|ယနေ့မှစ|ဘယ်တော့မှ"
        "|မည်သည့်အခါမှ|မ…ပါနဲ့|မ…နဲ့|မ…ရ(?:ဘူး|ပါ)?|တားမြစ်|အမြဲ",
        maybe="ត្រូវតែ|តែប៉ុណ្ណោះ|គួរ|ရမယ်|ရမည်|သာ|သင့်",
        asks="សូម|ကျေးဇူးပြု",
    ),
    Language(
        "Tagalog and Cebuano",
        sure="mula ngayon|simula ngayon|mula sa araw na ito"
        "|sa anumang (?:pagkakataon|paraan|kaso)|huwag|wag|bawal|ipinagbabawal"
        "|hindi (?:dapat|puwede|pwede|maaari)|dapat (?:laging|palaging|lang|lamang|palagi|lagi)"
        r"|siguraduhin\w*|siguruhin\w*|tiyakin|tandaan|tuwing|sa bawat|hayaan\w* … (?:lang|lamang)"
        "|iwasan|walang (?:sinuman|dapat|exception)|sukad karon"
        r"|ayaw (?:og|ug|pag\w*|hilabti|usba)|kinahanglan (?:kanunay|nga)",
        first="lagi|laging|palagi|palaging|lamang|tanging|kailanman|kanunay|hindi kailanman",
        maybe="palagi|palaging|lagi|laging|lamang|dapat|kailangan|kailanman|imbes na|sa halip",
        start="bawat|lahat ng|kada|tanan",
        asks=r"pakiusap|paki\w+|po|ikaw|ka",
        common="ang ng sa na mga at ay si ko mo ito ako hindi para kung may po lang din nga sa ug",
    ),
)
