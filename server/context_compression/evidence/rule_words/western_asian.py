"""Rule words of the Semitic, Turkic and Iranian languages."""

from context_compression.evidence.rule_words.language import Language

LANGUAGES = (
    Language(
        "Arabic",
        sure=r"من (?:الآن|اليوم|هذه اللحظة) (?:فصاعدا|وصاعدا|فصاعدًا|فصاعداً|وصاعدًا|وصاعداً)?|ابتداء\w* م"
        r"ن|من هنا (?:فصاعدا|فصاعدًا)|في المستقبل|مستقبلا|تحت أي ظرف|بأي (?:حال|شكل)\w*|مهما (?:حدث|كان)|م"
        r"منوع\w*|محظور\w*|يمنع|يُمنع|يحظر|يُحظر|لا (?:يجوز|يمكنك|ينبغي|يجب|يسمح|يُسمح|تلمس|تغير|تغيّر|تعدل|"
        r"تعدّل|تحذف|تستخدم|تكتب|تضف|تقم|تدفع|تنس|تنسى|ترفع|تشغل|تشغّل|تفعل|تدمج|تنشئ|تعبث|تقترب|تمس|تمسح|تر"
        r"د|تنشر|تعد|تلغ|ترسل|تضع|تدخل|تجر|تجرب|تترك) ?|إياك|إياكم|يجب … (?:دائما|دائمًا|دائماً|فقط|ألا|أن لا|عدم)|يجب (?:عليك|أن)|عليك (?:أن|د"
        r"ائم\w*|عدم)|تأكد|احرص|تجنب|تجنّب|في كل مرة|كلما|اترك … (?:كما|وشأن\w*)|دع … (?:كما|وشأن\w*)|ابتعد "
        r"عن|التزم|من دون استثناء|(?:بدون|دون) (?:إذن\w*|سؤالي|موافقتي)|بدون استثناء|دون استثناء|لا بد|متلمسش|متغيرش|متعملش|ما تلمس|ما تغير|م"
        r"ن فضلك (?:لا|دائم\w*)|أبدا لا|لا … (?:أبدا|أبدًا|أبداً|مطلقا|مطلقًا|مطلقاً|إطلاقا|إطلاقًا|إطلاقاً)",
        first=r"دائما|دائمًا|دائماً|أبدا|أبدًا|أبداً|فقط|مطلقا|ممنوع|حصرا|حصرًا|استخدم|اكتب|أجب|اجعل … (?:فقط|د"
        r"ائم\w*)",
        maybe=r"لا ت\w{2,7}|دائما|دائمًا|دائماً|أبدا|أبدًا|أبداً|فقط|يجب|ينبغي|لابد|يلزم|عدم|بدلا من|بدلًا من|على الأقل|ع"
        r"لى الأكثر|أريد أن|أفضل أن|لازم",
        start=r"كل|جميع|عند (?:كتابة|كل)",
        asks=r"من فضلك|رجاء|رجاءً|لو سمحت|أنت|هل يمكنك",
        common="في من على إلى أن هذا هذه التي الذي ما لا هو هي كان مع عن أو ثم لم قد كل بين بعد",
    ),
    Language(
        "Hebrew",
        sure=r"מעכשיו|מעתה(?: והלאה)?|מהיום(?: והלאה)?|מכאן והלאה|מרגע זה|בשום (?:פנים|אופן|מקרה)\w*|ללא י"
        r"וצא מן הכלל|בלי יוצא מן הכלל|אסור|נאסר|לעולם (?:אל|לא)|אף פעם (?:אל|לא)|אל (?:ת\w+|נא)|אין ל\w+|ל"
        r"א ל(?:געת|שנות|מחוק|השתמש|כתוב|ערוך|דחוף|הוסיף|שכוח|הריץ|עשות|הזיז)|(?:חייב|חייבת|חייבים|צרי"
        r"ך|צריכים|יש) … (?:תמיד|רק|אף פעם)|וודא|ודא|תוודא|הקפד|תקפיד|בכל פעם|השאר … (?:כמו|כפי)|עזוב את|"
        r"הימנע|תימנע|חובה|בבקשה (?:אל|תמיד|רק)|תמיד (?:ת\w+|יש|צריך)|רק (?:אם|אחרי|עם|ב\w+)",
        first=r"לעולם|תמיד|רק|אך ורק|אף פעם|שום|כתוב|השתמש|ענה",
        maybe=r"תמיד|רק|אך ורק|לעולם|אף פעם|חייב\w*|צריך|צריכים|יש ל\w+|עדיף|במקום|לפחות|לכל היותר",
        start=r"כל|בכל",
        asks=r"בבקשה|אנא|אתה|את|תוכל",
    ),
    Language(
        "Persian and Dari",
        sure=r"از (?:این|الان|اکنون|حالا|امروز) (?:پس|به بعد|به‌بعد)|من بعد|ازین پس|به هیچ (?:وجه|عنوان)|به‌هیچ‌و"
        r"جه|تحت هیچ \w+|در هیچ \w+|بدون استثنا\w*|(?:اکیدا )?ممنوع\w*|(?:نباید|نمی[ ‌]?توان\w*|حق نداری\w*)|"
        r"هرگز|هیچ ?‌?وقت|هیچ ?‌?گاه|ن(?:زن|کن|ده|نویس|گذار|بر|ساز|گیر|ریز|خوان|فرست)(?:ید|ین)?|دست نزن\w*|تغییر ن"
        r"ده\w*|حذف نکن\w*|استفاده نکن\w*|باید … (?:همیشه|فقط|همواره)|(?:همیشه|فقط) باید|مطمئن شو\w*|حتما"
        r"|حتماً|حواست باشد|بدون (?:اجازه|پرسیدن)|هر بار|یادت باشد|فراموش نکن\w*|به حال خود|لطفا … (?:ن\w+|همیشه|فقط)|لطفاً … (?:"
        r"ن\w+|همیشه|فقط)|پرهیز کن\w*|خودداری کن\w*|الزامی است|لازم است که",
        first=r"همیشه|همواره|فقط|تنها|صرفا|صرفاً|هیچ",
        maybe=r"همیشه|همواره|فقط|صرفا|باید|بایستی|ممنوع|به جای|به‌جای|حداقل|حداکثر|می‌خواهم|ترجیح",
        start=r"هر|همه|تمام|تمامی|وقتی",
        asks=r"لطفا|لطفاً|تو|شما|می‌توانی|می توانی",
        common="و در به از که این را با است برای آن یک خود تا کرد بر هم نیز می شود ها یا ما",
    ),
    Language(
        "Turkish",
        sure=r"bundan (?:sonra|böyle)|şu andan itibaren|bugünden itibaren|artık (?:her|hep|hiç|asla|sadece)"
        r"|ileride|hiçbir (?:zaman|şekilde|koşulda|durumda|surette)|hiç bir (?:zaman|şekilde)|kesinlikle|"
        r"istisnasız|ne olursa olsun|(?:yasak|yasaktır|zorunlu|zorunludur|mecburi)|asla \w+|sakın|*mamalı*|*memel"
        r"i*|*malısın*|*melisin*|*malıdır|*melidir|*mayın|*meyin|*mayınız|*meyiniz|*masınlar|(?:doku"
        r"n|değiştir|sil|kullan|yap|yaz|ekle|elle|unut|çalıştır|düzenle|gönder|bırak|at|kır|boz|yükle|gir"
        r"|karıştır|oluştur|kur|taşı|kapat|aç|çağır|kaldır|ekleştir|yorumla|dokundur|ver|koy|geç|gönderme"
        r"|çevir|güncelle|yeniden adlandır|commitle|pushla|tahmin et|varsay|uydur|atla|kopyala|ç[ıi]kar)m[ae]$|her (?:zaman|seferinde|defasında)|bana sormadan|izinsiz|sormadan|emin ol\w*|olduğ"
        r"u gibi bırak\w*|rahat bırak\w*|uzak dur\w*|unutma|dikkat et|lütfen … (?:\w+m[ae]|\w+m[ae]y[ıi]n)|"
        r"sadık kal|gerekir ki",
        first=r"asla|daima|her zaman|hep|sadece|yalnızca|yalnız|hiçbir|kesinlikle|mutlaka",
        maybe=r"asla|daima|sadece|yalnızca|mutlaka|zorunda\w*|gerek|gerekir|gerekiyor|lazım|lâzım|şart|*mal"
        r"ı|*meli|yasak|yerine|en az|en fazla|istiyorum|tercih ederim",
        start=r"her bir|her (?:commit|dosya|mesaj|test|fonksiyon|cevap|değişiklik)\w*|tüm|bütün",
        asks=r"lütfen|sen|siz|rica|misin|mısın|musun|müsün|tamam mı",
        common="ve bir bu da de için ile çok ne var gibi daha olarak kadar ama o ki mi değil ben sen",
    ),
    Language(
        "Azerbaijani, Uzbek and Kazakh",
        sure=r"bundan sonra|bundan belə|heç vaxt|heç bir \w+|qəti\w*|qadağan\w*|qadağandır|*məyin"
        r"|*mamalı*|*məməli*|*mə$|bundan buyon|hech qachon|taqiqlan\w+|*mang$|*maslik*"
        r"|бұдан былай|ешқашан|тыйым салын\w+|*(?:маңыз|меңіз|баңыз|беңіз|паңыз|пеңіз)$"
        r"|бундан буён|ҳеч қачон",
        first=r"həmişə|yalnız|heç|doim|har doim|faqat|hech|әрқашан|тек|үнемі|ешқандай|доим|фақат",
        maybe=r"həmişə|yalnız|mütləq|lazım\w*|gərək\w*|doim|faqat|kerak|shart|әрқашан|тиіс|керек|міндетті",
        start=r"hər|har bir|әр|әрбір|барлық",
        asks=r"zəhmət olmasa|xahiş edirəm|iltimos|sən|siz|өтінемін",
        common="və bir bu da üçün ilə də va bu uchun bilan ham emas və мен бұл және үшін деп да де",
    ),
    Language(
        "Kurdish and Pashto",
        sure=r"ji niha û pê ve|êdî|qet|tu carî|bi tu awayî|qedexe ye|له ئێستاوە|هەرگیز|قەدەغە\w*|له دې وروسته|هېڅکل"
        r"ه|هیڅکله|منع ده|مه \w+",
        first=r"her tim|hertim|tenê|هەمیشە|تەنها|تل|یوازې",
        maybe=r"pêwîst e|دەبێت|باید|تل|یوازې",
        asks=r"ji kerema xwe|تکایە|مهرباني",
        common="û di de ji bo ku ev ye li bi و له که ئەم بۆ د په چې دی کې",
    ),
)
