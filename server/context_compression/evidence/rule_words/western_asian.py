"""Rule words of the Semitic, Turkic and Iranian languages."""

from context_compression.evidence.rule_words.language import Language

LANGUAGES = (
    Language(
        "Arabic",
        sure="من (?:الآن|اليوم|هذه اللحظة) (?:فصاعدا|وصاعدا|فصاعدًا|فصاعداً|وصاعدًا|وصاعداً)?"
        r"|ابتداء\w* من|من هنا (?:فصاعدا|فصاعدًا)|في المستقبل|مستقبلا|تحت أي ظرف|بأي (?:حال|شكل)\w*"
        r"|مهما (?:حدث|كان)|ممنوع\w*|محظور\w*|يمنع|يُمنع|يحظر|يُحظر"
        "|لا (?:يجوز|يمكنك|ينبغي|يجب|يسمح|يُسمح|تلمس|تغير|تغيّر|تعدل|تعدّل|تحذف|تستخدم|تكتب|تضف|تقم"
        "|تدفع|تنس|تنسى|ترفع|تشغل|تشغّل|تفعل|تدمج|تنشئ|تعبث|تقترب|تمس|تمسح|ترد|تنشر|تعد|تلغ|ترسل"
        "|تضع|تدخل|تجر|تجرب|تترك) ?|إياك|إياكم|يجب … (?:دائما|دائمًا|دائماً|فقط|ألا|أن لا|عدم)"
        r"|يجب (?:عليك|أن)|عليك (?:أن|دائم\w*|عدم)|تأكد|احرص|تجنب|تجنّب|في كل مرة|كلما"
        r"|اترك … (?:كما|وشأن\w*)|دع … (?:كما|وشأن\w*)|ابتعد عن|التزم|من دون استثناء"
        r"|(?:بدون|دون) (?:إذن\w*|سؤالي|موافقتي)|بدون استثناء|دون استثناء|لا بد|متلمسش|متغيرش"
        r"|متعملش|ما تلمس|ما تغير|من فضلك (?:لا|دائم\w*)|أبدا لا"
        "|لا … (?:أبدا|أبدًا|أبداً|مطلقا|مطلقًا|مطلقاً|إطلاقا|إطلاقًا|إطلاقاً)",
        first="دائما|دائمًا|دائماً|أبدا|أبدًا|أبداً|فقط|مطلقا|ممنوع|حصرا|حصرًا|استخدم|اكتب|أجب"
        r"|اجعل … (?:فقط|دائم\w*)",
        maybe=r"لا ت\w{2,7}|دائما|دائمًا|دائماً|أبدا|أبدًا|أبداً|فقط|يجب|ينبغي|لابد|يلزم|عدم|بدلا من"
        "|بدلًا من|على الأقل|على الأكثر|أريد أن|أفضل أن|لازم",
        start="كل|جميع|عند (?:كتابة|كل)",
        asks="من فضلك|رجاء|رجاءً|لو سمحت|أنت|هل يمكنك",
        common="في من على إلى أن هذا هذه التي الذي ما لا هو هي كان مع عن أو ثم لم قد كل بين بعد",
    ),
    Language(
        "Hebrew",
        sure="מעכשיו|מעתה(?: והלאה)?|מהיום(?: והלאה)?|מכאן והלאה|מרגע זה"
        r"|בשום (?:פנים|אופן|מקרה)\w*|ללא יוצא מן הכלל|בלי יוצא מן הכלל|אסור|נאסר|לעולם (?:אל|לא)"
        r"|אף פעם (?:אל|לא)|אל (?:ת\w+|נא)|אין ל\w+"
        "|לא ל(?:געת|שנות|מחוק|השתמש|כתוב|ערוך|דחוף|הוסיף|שכוח|הריץ|עשות|הזיז)"
        "|(?:חייב|חייבת|חייבים|צריך|צריכים|יש) … (?:תמיד|רק|אף פעם)|וודא|ודא|תוודא|הקפד|תקפיד"
        "|בכל פעם|השאר … (?:כמו|כפי)|עזוב את|הימנע|תימנע|חובה|בבקשה (?:אל|תמיד|רק)"
        r"|תמיד (?:ת\w+|יש|צריך)|רק (?:אם|אחרי|עם|ב\w+)",
        first="לעולם|תמיד|רק|אך ורק|אף פעם|שום|כתוב|השתמש|ענה",
        maybe=r"תמיד|רק|אך ורק|לעולם|אף פעם|חייב\w*|צריך|צריכים|יש ל\w+|עדיף|במקום|לפחות|לכל היותר",
        start="כל|בכל",
        asks="בבקשה|אנא|אתה|את|תוכל",
    ),
    Language(
        "Persian and Dari",
        sure="از (?:این|الان|اکنون|حالا|امروز) (?:پس|به بعد|به‌بعد)|من بعد|ازین پس"
        r"|به هیچ (?:وجه|عنوان)|به‌هیچ‌وجه|تحت هیچ \w+|در هیچ \w+|بدون استثنا\w*|(?:اکیدا )?ممنوع\w*"
        r"|(?:نباید|نمی[ ‌]?توان\w*|حق نداری\w*)|هرگز|هیچ ?‌?وقت|هیچ ?‌?گاه"
        r"|ن(?:زن|کن|ده|نویس|گذار|بر|ساز|گیر|ریز|خوان|فرست)(?:ید|ین)?|دست نزن\w*|تغییر نده\w*"
        r"|حذف نکن\w*|استفاده نکن\w*|باید … (?:همیشه|فقط|همواره)|(?:همیشه|فقط) باید|مطمئن شو\w*"
        r"|حتما|حتماً|حواست باشد|بدون (?:اجازه|پرسیدن)|هر بار|یادت باشد|فراموش نکن\w*|به حال خود"
        r"|لطفا … (?:ن\w+|همیشه|فقط)|لطفاً … (?:ن\w+|همیشه|فقط)|پرهیز کن\w*|خودداری کن\w*"
        "|الزامی است|لازم است که",
        first="همیشه|همواره|فقط|تنها|صرفا|صرفاً|هیچ",
        maybe="همیشه|همواره|فقط|صرفا|باید|بایستی|ممنوع|به جای|به‌جای|حداقل|حداکثر|می‌خواهم|ترجیح",
        start="هر|همه|تمام|تمامی|وقتی",
        asks="لطفا|لطفاً|تو|شما|می‌توانی|می توانی",
        common="و در به از که این را با است برای آن یک خود تا کرد بر هم نیز می شود ها یا ما",
    ),
    Language(
        "Turkish",
        sure="bundan (?:sonra|böyle)|şu andan itibaren|bugünden itibaren"
        "|artık (?:her|hep|hiç|asla|sadece)|ileride"
        "|hiçbir (?:zaman|şekilde|koşulda|durumda|surette)|hiç bir (?:zaman|şekilde)|kesinlikle"
        r"|istisnasız|ne olursa olsun|(?:yasak|yasaktır|zorunlu|zorunludur|mecburi)|asla \w+|sakın"
        "|*mamalı*|*memeli*|*malısın*|*melisin*|*malıdır|*melidir|*mayın|*meyin|*mayınız|*meyiniz"
        "|*masınlar"
        "|(?:dokun|değiştir|sil|kullan|yap|yaz|ekle|elle|unut|çalıştır|düzenle|gönder|bırak|at"
        "|kır|boz|yükle|gir|karıştır|oluştur|kur|taşı|kapat|aç|çağır|kaldır|ekleştir|yorumla"
        "|dokundur|ver|koy|geç|gönderme|çevir|güncelle|yeniden adlandır|commitle|pushla|tahmin et"
        "|varsay|uydur|atla|kopyala|ç[ıi]kar)m[ae]$|her (?:zaman|seferinde|defasında)"
        r"|bana sormadan|izinsiz|sormadan|emin ol\w*|olduğu gibi bırak\w*|rahat bırak\w*"
        r"|uzak dur\w*|unutma|dikkat et|lütfen … (?:\w+m[ae]|\w+m[ae]y[ıi]n)|sadık kal|gerekir ki",
        first="asla|daima|her zaman|hep|sadece|yalnızca|yalnız|hiçbir|kesinlikle|mutlaka",
        maybe=r"asla|daima|sadece|yalnızca|mutlaka|zorunda\w*|gerek|gerekir|gerekiyor|lazım|lâzım"
        "|şart|*malı|*meli|yasak|yerine|en az|en fazla|istiyorum|tercih ederim",
        start=r"her bir|her (?:commit|dosya|mesaj|test|fonksiyon|cevap|değişiklik)\w*|tüm|bütün",
        asks="lütfen|sen|siz|rica|misin|mısın|musun|müsün|tamam mı",
        common="ve bir bu da de için ile çok ne var gibi daha olarak kadar ama o ki mi değil ben "
        "sen",
    ),
    Language(
        "Azerbaijani, Uzbek and Kazakh",
        sure=r"bundan sonra|bundan belə|heç vaxt|heç bir \w+|qəti\w*|qadağan\w*|qadağandır|*məyin"
        r"|*mamalı*|*məməli*|*mə$|bundan buyon|hech qachon|taqiqlan\w+|*mang$|*maslik*|бұдан былай"
        r"|ешқашан|тыйым салын\w+|*(?:маңыз|меңіз|баңыз|беңіз|паңыз|пеңіз)$|бундан буён|ҳеч қачон",
        first="həmişə|yalnız|heç|doim|har doim|faqat|hech|әрқашан|тек|үнемі|ешқандай|доим|фақат",
        maybe=r"həmişə|yalnız|mütləq|lazım\w*|gərək\w*|doim|faqat|kerak|shart|әрқашан|тиіс|керек"
        "|міндетті",
        start="hər|har bir|әр|әрбір|барлық",
        asks="zəhmət olmasa|xahiş edirəm|iltimos|sən|siz|өтінемін",
        common="və bir bu da üçün ilə də va bu uchun bilan ham emas və мен бұл және үшін деп да де",
    ),
    Language(
        "Kurdish and Pashto",
        sure=r"ji niha û pê ve|êdî|qet|tu carî|bi tu awayî|qedexe ye|له ئێستاوە|هەرگیز|قەدەغە\w*"
        r"|له دې وروسته|هېڅکله|هیڅکله|منع ده|مه \w+",
        first="her tim|hertim|tenê|هەمیشە|تەنها|تل|یوازې",
        maybe="pêwîst e|دەبێت|باید|تل|یوازې",
        asks="ji kerema xwe|تکایە|مهرباني",
        common="û di de ji bo ku ev ye li bi و له که ئەم بۆ د په چې دی کې",
    ),
)
