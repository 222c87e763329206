"""Rule words of the languages of Asia and Africa."""

from context_compression.evidence.rule_words.language import Language

EAST_ASIAN = (
    Language(
        "Chinese",
        sure="不要|(?<!我)必须|(?<!我)必須|禁止|务必|務必|只能|只可|只准|不得|不准|不許|不许|始终"
        "|始終|避免|确保|確保|请勿|請勿|切勿|勿(?:要|动|動|改|删|刪|用)|千万(?:别|不|要|记)"
        "|千萬(?:別|不|要|記)|绝对(?:不|要|禁|别)|絕對(?:不|要|禁|別)|绝不|絕不|决不|決不|永远"
        "|永遠|永不|一律|未经|未經|擅自|严禁|嚴禁"
        "|从(?:现在|今|今天|此|今以后)(?:起|开始|以后|往后|后)"
        "|從(?:現在|今|今天|此)(?:起|開始|以後|往後|後)|以后(?:都|所有|每|不|请|只|一律)"
        "|以後(?:都|所有|每|不|請|只|一律)|今后|今後|往后|往後|无论如何|無論如何|任何情况|任何情況"
        "|别(?:动|改|碰|用|删|写|提交|推送|忘|再|把|给|去|在|乱|擅自|直接|随便|修改|加)"
        "|別(?:動|改|碰|用|刪|寫|提交|推送|忘|再|把|給|去|在|亂|擅自|直接|隨便|修改|加)"
        "|不可(?!能|以)|不允许|不允許|一定(?:要|不)|(?<!我)(?<!不)記得|(?<!我)(?<!不)记得|牢记"
        "|牢記|保持…(?:不变|原样|不動)|凡是|唔好|唔准|唔可以|千祈|由而家|以後都|一定要|唔得"
        "|默认(?:用|使用)|应当|應當|應该",
        maybe="必须|必須|不能|不可以|总是|總是|每次|每当|每當|都要|都得|都必|都用|应当|應當|默认"
        "|只(?:用|在|改|许|許|要|有)|应该|應該|要求|需要|须|須|得用|最好|尽量|盡量|而不是|至少"
        "|最多|统一|統一|优先|優先|请用|請用",
        start="每个|每個|每一|每|所有|任何|凡",
        asks="你|请|請|您|妳",
    ),
    Language(
        "Japanese",
        sure="今後|これから(?:は)?|以後|以降は|これ以降|本日から|今日から"
        "|いかなる(?:場合|理由|状況)|何があっても|例外なく|絶対|決して|けっして|ぜったい|必ず"
        "|かならず|禁止|厳禁"
        "|ないで(?:ください|下さい|ほしい|欲しい|ね|くれ)?(?:$|[。、！]|ください|下さい)"
        "|しないこと|ないこと|ないように|てはいけ(?:ない|ません)|てはなら(?:ない|ず|ません)"
        "|てはだめ|ちゃだめ|ちゃダメ|てはダメ|じゃダメ|では(?:なりません|いけません)|べからず"
        "|する(?:な$|な[。！])|(?:る|く|す|ぬ|む|ぐ|う|つ|ぶ)な(?:$|[。！]|よ)"
        "|べき(?:で(?:は)?(?:ない|ありません))|触らな|触るな|変更しな|いじらな|いじるな"
        "|なければ(?:なら|いけ)|なくては(?:なら|いけ)|ねばなら|常に|つねに|毎回|その都度"
        "|(?:して|て|で)(?:ください|下さい)…(?:必ず|常に|だけ|のみ)"
        "|(?:だけ|のみ)(?:を)?(?:使|変更|編集|書|で|に)|してはいけ|控えて|避けて"
        "|(?:すべて|全て|全部)…(?:して|で|に)(?:ください|下さい|すること)|すること$|すること[。]"
        "|ように(?:して|し)(?:ください|下さい)|忘れずに|厳守|勝手に|許可なく|無断で|徹底|お控え"
        "|ご遠慮|(?:は|を|で|に)…(?:から始め|で始め|で書いて|で答えて|で統一)",
        maybe="いつも|だけ|のみ|べき|必要があ|必須|ください|下さい|代わりに|なるべく|できるだけ"
        "|以上|以内|優先|お願いします|ダメ|だめ",
        start="毎|各|すべての|全ての|全部の|どの|あらゆる|コミット",
        asks="ください|下さい|あなた|君|お願い|もらえ|くれ",
    ),
    Language(
        "Korean",
        sure="앞으로|이제부터|지금부터|오늘부터|이 시점부터|향후|이후로"
        "|어떤 (?:경우|상황|일|이유)*|무슨 일이 있*|무조건|예외 ?없이|허락 ?없이|묻지 않고"
        "|마음대로|절대|결코|반드시|꼭|금지*|엄금"
        "|*지 ?(?:마|말|마세요|마십시오|말아|말것|말 것|않도록|않게|않아야)*|*면 안 *|*면 안*"
        "|*서는 안*|*선 안*|안 됩니다|안 돼*|안된다|안 된다|말 것|하지 말*|건드리지*"
        "|*야 ?(?:합니다|한다|해요|해|함|하며|하고)*|항상|언제나|늘|매번"
        "|*(?:할|쓸|볼|낼|될) 때마다|때마다"
        "|*만 (?:사용|수정|써|쓰|변경|허용|작성|답|이용|건드|실행)*|*으로만 *|*로만 |*에만 |*할 것"
        "|확인하*|명심하*|잊지 *|그대로 (?:두|놔|유지)*|피하*|삼가*|*하도록 (?:하|해)*"
        "|*도록 하세요",
        maybe="항상|언제나|오직|오로지|필수*|필요*|대신*|가급적|되도록|최소*|최대*|*주세요|*십시오"
        "|*해라|*하세요|*세요",
        start="모든|매|각|전부|모두",
        asks="당신|너|제발|부탁*|주세요|주실*|해줘|해 줘",
    ),
    Language(
        "Mongolian and Tibetan",
        sure="одооноос|өнөөдрөөс|хэзээ ч|ямар ч (?:тохиолдолд|нөхцөлд)|хориглоно|хориотой|болохгүй"
        "|битгий|бүү|заавал|ད་ནས་བཟུང|ནམ་ཡང|མ་བྱེད",
        first="үргэлж|зөвхөн|хэзээ ч|ямагт",
        maybe="үргэлж|зөвхөн|ёстой|хэрэгтэй",
        start="бүх|бүр",
        asks="та|чи|гуйя",
        common="ба бол энэ нь байна гэж юм бас тэр бай дээр болон",
    ),
)

INDIAN = (
    Language(
        "Hindi",
        sure="अब से|आज से|इसके बाद से|आगे से|अभी से|भविष्य में|आइंदा|किसी भी (?:हाल|हालत|सूरत|स्थिति|परिस्थिति)"
        "|कभी (?:भी )?(?:मत|न|ना|नहीं)|कभी … (?:मत|न|ना|नहीं)"
        "|मत (?:कर|छू|छे|बदल|हटा|लिख|डाल|जोड़|भूल|दे|बना|चला|खोल|रख|छोड़|मिटा|भेज|ले|लगा)*"
        "|(?:कर|छू|छेड़|बदल|हटा|लिख|डाल|जोड़|भूल|दे|बना|चला|रख|मिटा|भेज)(?:ना|ो|ें|िए|िये|ओ|एँ|एं|ाना)? मत"
        "|(?:न|ना) (?:करें|करो|करना|करिए|कीजिए|छुएं|छुएँ|छूएं|छुओ|छूना|बदलें|बदलो|हटाएं|हटाएँ|हटाओ|लिखें|लिखो|डालें"
        "|जोड़ें|छेड़ें|भूलें|भूलो|दें|बनाएं|बनाएँ|मिटाएं|चलाएं|रखें)|(?:सख्त )?(?:मना|वर्जित|निषिद्ध|प्रतिबंधित) है"
        "|अनिवार्य|(?:करना|होना|रखना|लिखना|देना|रहना|लगाना) (?:ही )?(?:चाहिए|होगा|है)"
        "|(?:चाहिए|होगा) … (?:हमेशा|सिर्फ|केवल)|सुनिश्चित|ध्यान रख*|ध्यान दें|याद रख*|हर बार|जब भी|बिना पूछे"
        "|दूर रह*|वैसे ही (?:रहने|छोड़)*|बिना (?:किसी )?अपवाद|बचें|मत ",
        first="हमेशा|सदैव|सदा|केवल|सिर्फ|सिर्फ़|मात्र|कभी|कोई भी|कृपया",
        maybe="हमेशा|सदैव|केवल|सिर्फ|सिर्फ़|कभी|चाहिए|जरूर|ज़रूर|अवश्य|जरूरी|ज़रूरी|मत|की जगह|के बजाय|कम से कम"
        "|ज्यादा से ज्यादा|अधिकतम",
        start="हर|प्रत्येक|सभी|जब भी",
        asks="कृपया|आप|तुम|प्लीज",
    ),
    Language(
        "Hindi in Latin letters",
        sure="ab se|aaj se|aage se|kabhi (?:bhi )?(?:mat|na|nahi|nahin|nahee)"
        "|kabhi … (?:mat|nahi|nahin)"
        "|mat (?:karo|karna|chhuo|chhona|chuna|badlo|badalna|hatao|likho|likhna|bhoolna|dalo"
        "|chhedo|karen|kare|kijiye|do|banao)"
        "|(?:karna|chhuna|chuna|badalna|hatana|likhna|chhedna) mat|kisi bhi haal|har baar|jab bhi"
        "|hamesha",
        first="hamesha|sirf|keval|kabhi|zaroor",
        maybe="hamesha|sirf|zaroor|chahiye|zaruri|zaroori",
        asks="kripya|aap|tum",
        common="hai ka ki ke ko se mein nahi aur kya yeh ye bhi par hain tha kar",
    ),
    Language(
        "Marathi, Nepali and Sanskrit",
        sure="यापुढे|आतापासून|आजपासून|इथून पुढे|यानंतर|कोणत्याही (?:परिस्थितीत|परिस्थिती|कारणास्तव)*"
        "|कधीही … (?:नका|नये|नको|नाही)|कधीच … (?:नका|नये|नको|नाही)|*(?:ू|ऊ|त)? ?नका|*नका|*ू नये|*ू नयेत"
        "|*ू नको*|नये|*ायला (?:हवे|हवी|हवा|पाहिजे)|सक्त मनाई|मनाई|बंधनकारक|अनिवार्य|खात्री कर*|लक्षात ठेव*"
        "|काळजी घ्या|प्रत्येक वेळी|दरवेळी|जसे आहे तसे|दूर रहा|टाळा|अबदेखि|अबदेखी|अब उप्रान्त|आजदेखि|कहिल्यै|कदापि"
        "|नगर्नु*|नगर|नगर्नुहोस्|नछुनु*|नछोऊ|नबदल्नु*|नहटाउनु*|नलेख्नु*|गर्नु हुँदैन|गर्नुपर्छ|निषेध*|सधैं … *(?:पर्छ|होस्)",
        first="नेहमी|कायम|सदैव|फक्त|केवळ|मात्र|कधीही|कधीच|कृपया|सधैं|केवल|कहिल्यै",
        maybe="नेहमी|फक्त|केवळ|कधीही|कधीच|पाहिजे|हवे|हवी|आवश्यक|ऐवजी|किमान|जास्तीत जास्त|सधैं|पर्छ|अनिवार्य",
        start="प्रत्येक|सर्व|दर|हरेक|सबै",
        asks="कृपया|तुम्ही|तू|तपाईं",
    ),
    Language(
        "Bengali and Assamese",
        sure="এখন থেকে|আজ থেকে|এরপর থেকে|এর পর থেকে|এবার থেকে|ভবিষ্যতে"
        "|কোনো (?:অবস্থাতেই|ভাবেই|পরিস্থিতিতেই)|কোনোভাবেই|কোন অবস্থাতেই|কোনও অবস্থাতেই|কখনো*|কখনও*"
        "|কখনই*|কক্ষনো|কদাপি|*(?:বেন|বে|ও|ো|ুন|িও|িস|বি) না|*ো না|*বেন না|*নিষিদ্ধ*|নিষেধ|বারণ|মানা"
        "|বাধ্যতামূলক|আবশ্যক|যাবে না|উচিত নয়|চলবে না|নিশ্চিত (?:কর|হ)*|মনে রাখ*|খেয়াল রাখ*|প্রতিবার"
        "|প্রত্যেকবার|যখনই|যেমন আছে|দূরে থাক*|এড়িয়ে চল*|অবশ্যই|ব্যতিক্রম ছাড়া|এতিয়াৰ পৰা|কেতিয়াও",
        first="সবসময়|সব সময়|সর্বদা|সদা|শুধু|শুধুমাত্র|কেবল|কেবলমাত্র|কোনো|দয়া করে|সবসময়|সব সময়|সদায়",
        maybe="সবসময়|সব সময়|সবসময়|সর্বদা|শুধু|শুধুমাত্র|কেবল|অবশ্যই|উচিত|হবে|পরিবর্তে|বদলে|কমপক্ষে|সর্বোচ্চ",
        start="প্রতি*|প্রত্যেক*|সব|সকল",
        asks="দয়া করে|অনুগ্রহ করে|আপনি|তুমি|তুই",
    ),
    Language(
        "Urdu",
        sure="اب سے|آج سے|آئندہ|آیندہ|اس کے بعد سے|آگے سے|کسی (?:بھی )?(?:صورت|حال|حالت|قیمت)*"
        "|کبھی (?:بھی )?(?:مت|نہ|نہیں)|کبھی … (?:مت|نہ|نہیں)|ہرگز"
        "|مت (?:کر|چھو|چھی|بدل|ہٹا|لکھ|ڈال|بھول|دے|بنا|چلا|رکھ|مٹا|بھیج|لگا)*"
        "|(?:کر|چھو|چھیڑ|بدل|ہٹا|لکھ|ڈال|بھول|دے|بنا|چلا)(?:نا|و|یں|ئیں)? مت"
        "|نہ (?:کریں|کرو|کرنا|کیجیے|کیجئے|چھوئیں|چھوؤ|چھونا|چھیڑیں|بدلیں|بدلو|ہٹائیں|لکھیں|لکھو"
        "|ڈالیں|بھولیں|بھولنا|دیں|بنائیں|مٹائیں|چلائیں|لگائیں|رکھیں)|(?:سخت )?(?:منع|ممنوع) ہے"
        "|لازمی|(?:کرنا|ہونا|رکھنا|لکھنا|دینا|رہنا) (?:ہی )?(?:چاہیے|چاہئے|ہوگا|ہو گا|ہے)"
        "|یقینی بنا*|خیال رکھ*|یاد رکھ*|ہر بار|جب بھی|بغیر پوچھے|دور رہ*|ویسے ہی|بچیں|گریز کر*",
        first="ہمیشہ|صرف|فقط|محض|کبھی|کوئی بھی|براہ کرم|براہِ کرم",
        maybe="ہمیشہ|صرف|فقط|کبھی|چاہیے|چاہئے|ضرور|ضروری|مت|کے بجائے|کی جگہ|کم از کم"
        "|زیادہ سے زیادہ",
        start="ہر|تمام|سب|جب بھی",
        asks="براہ کرم|براہِ کرم|مہربانی|آپ|تم",
        common="ہے کے کی کا میں سے کو اور نے پر یہ ہیں کہ بھی تھا اس ایک نہیں کر ہو جو تو وہ",
    ),
    Language(
        "Punjabi, Gujarati, Odia and Sinhala",
        sure="ਹੁਣ ਤੋਂ|ਅੱਜ ਤੋਂ|ਅੱਗੇ ਤੋਂ|ਕਦੇ (?:ਵੀ )?(?:ਨਾ|ਨਹੀਂ)|ਕਦੇ … (?:ਨਾ|ਨਹੀਂ)|ਕਿਸੇ ਵੀ ਹਾਲਤ*"
        "|ਨਾ (?:ਕਰੋ|ਕਰਨਾ|ਛੂਹੋ|ਛੇੜੋ|ਬਦਲੋ|ਹਟਾਓ|ਲਿਖੋ)|ਮਨ੍ਹਾ ਹੈ|ਯਕੀਨੀ ਬਣਾ*|ਹਰ ਵਾਰ|ਜ਼ਰੂਰ|હવેથી|આજથી|હવે પછી|ક્યારેય"
        "|કદી|કોઈ (?:પણ )?સંજોગોમાં|*શો નહીં|*શો નહિ|*વું નહીં|*વું ન*"
        "|ન (?:કરો|કરવું|કરશો|અડશો|બદલો|કાઢો|લખો)|મનાઈ છે|પ્રતિબંધ*|ફરજિયાત|ખાતરી કર*|ધ્યાન રાખ*|દર વખતે"
        "|ଏବେଠାରୁ|ଆଜିଠାରୁ|କେବେ(?:ହେଲେ|ବି)?|କଦାପି|*ନ୍ତୁ ନାହିଁ|ନିଷେଧ|ନିଷିଦ୍ଧ|මෙතැන් සිට|අද සිට|කිසි විටෙක*|කිසිවිටෙක*"
        "|කවදාවත්|*න්න එපා|එපා|තහනම්|අනිවාර්යයෙන්",
        first="ਹਮੇਸ਼ਾ|ਸਿਰਫ਼|ਸਿਰਫ|ਕੇਵਲ|ਕਦੇ|હંમેશા|હમેશા|હંમેશાં|ફક્ત|માત્ર|કેવળ|ସର୍ବଦା|କେବଳ|සැමවිටම|හැමවිටම|පමණක්",
        maybe="ਹਮੇਸ਼ਾ|ਸਿਰਫ਼|ਸਿਰਫ|ਚਾਹੀਦਾ|ਲਾਜ਼ਮੀ|હંમેશા|ફક્ત|માત્ર|જોઈએ|જરૂરી|ସର୍ବଦା|କେବଳ|ଉଚିତ|සැමවිටම|පමණක්|යුතුයි"
        "|යුතු",
        start="ਹਰ|ਸਾਰੇ|દરેક|પ્રત્યેક|બધા|ପ୍ରତ୍ୟେକ|ସବୁ|සෑම|හැම",
        asks="ਕਿਰਪਾ|ਤੁਸੀਂ|કૃપા|મહેરબાની|તમે|ଦୟାକରି|කරුණාකර",
    ),
    Language(
        "Tamil",
        sure="இனிமேல்|இனி(?= )|இன்றிலிருந்து|இப்போதிலிருந்து|இப்போது முதல்|இன்று முதல்|இதற்குப் பிறகு"
        "|எதிர்காலத்தில்|எந்த (?:சூழ்நிலை|காரண|நிலை)*|எக்காரணம்*|ஒருபோதும்*"
        "|எப்போதும் … *(?:ாதே|ாதீர்கள்|கூடாது|வேண்டாம்)|*ாதே|*ாதீர்கள்|*ாதீர்|*க்கூடாது|*கூடாது|*வேண்டாம்|தடை *"
        "|தடைசெ*|கட்டாயம்*|கட்டாயமாக|*வேண்டும்|உறுதி (?:செய்|செ)*|உறுதிசெய்*|நினைவில் *|கவனமாக"
        "|ஒவ்வொரு முறையும்|அப்படியே விட*|தவிர்*|தொடாதே*",
        first="எப்போதும்|எப்பொழுதும்|மட்டும்|மட்டுமே|ஒருபோதும்|தயவுசெய்து|எதுவும்",
        maybe="எப்போதும்|எப்பொழுதும்|மட்டும்|மட்டுமே|அவசியம்|பதிலாக|குறைந்தது|அதிகபட்சம்",
        start="ஒவ்வொரு|எல்லா|அனைத்து",
        asks="தயவுசெய்து|தயவு செய்து|நீங்கள்|நீ",
    ),
    Language(
        "Telugu and Kannada",
        sure="ఇకపై|ఇక నుండి|ఇకనుండి|ఇక నుంచి|ఇప్పటి నుండి|ఇప్పటి నుంచి|ఈ రోజు నుండి|నేటి నుండి|భవిష్యత్తులో"
        "|ఎట్టి పరిస్థితు*|ఎప్పుడూ … *(?:వద్దు|కూడదు|రాదు)|ఎన్నడూ|ఎప్పటికీ|*వద్దు|*కూడదు|*రాదు|నిషేధ*|నిషిద్ధ*"
        "|తప్పనిసరి*|తప్పకుండా|*ాలి|నిర్ధారించ*|గుర్తుంచుకో*|ప్రతిసారి|ప్రతిసారీ|ప్రతి సారి|అలాగే వదిలే*|దూరంగా ఉండ*|ಇನ್ನು ಮುಂದೆ"
        "|ಇನ್ನುಮುಂದೆ|ಇಂದಿನಿಂದ|ಈಗಿನಿಂದ|ಯಾವುದೇ ಕಾರಣ*|ಯಾವುದೇ ಸಂದರ್ಭ*|ಎಂದಿಗೂ|ಯಾವತ್ತೂ|*ಬೇಡಿ|*ಬೇಡ|*ಬಾರದು|*ಕೂಡದು"
        "|ನಿಷೇಧ*|ನಿಷಿದ್ಧ*|ಕಡ್ಡಾಯ*|ಖಂಡಿತ*|*ಬೇಕು|ಖಚಿತಪಡಿಸಿ*|ನೆನಪಿ*|ಪ್ರತಿ ಬಾರಿ*",
        first="ఎల్లప్పుడూ|ఎప్పుడూ|ఎల్లవేళలా|కేవలం|మాత్రమే|దయచేసి|ಯಾವಾಗಲೂ|ಸದಾ|ಕೇವಲ|ಮಾತ್ರ|ದಯವಿಟ್ಟು",
        maybe="ఎల్లప్పుడూ|ఎప్పుడూ|కేవలం|మాత్రమే|అవసరం|బదులుగా|కనీసం|ಯಾವಾಗಲೂ|ಕೇವಲ|ಮಾತ್ರ|ಅಗತ್ಯ|ಬದಲಿಗೆ|ಕನಿಷ್ಠ",
        start="ప్రతి|అన్ని|ಪ್ರತಿ|ಎಲ್ಲಾ|ಎಲ್ಲ",
        asks="దయచేసి|మీరు|నువ్వు|ದಯವಿಟ್ಟು|ನೀವು|ನೀನು",
    ),
    Language(
        "Malayalam",
        sure="ഇനി മുതൽ|ഇനിമുതൽ|ഇന്നു മുതൽ|ഇന്ന് മുതൽ|ഇപ്പോൾ മുതൽ|ഒരിക്കലും|ഒരു കാരണവശാലും|യാതൊരു കാരണവശാലും|*രുത്"
        "|*ണ്ട|നിരോധി*|നിർബന്ധ*|തീർച്ചയായും|*ണം|ഉറപ്പാക്ക*|ഓർക്ക*|ഓരോ തവണയും|ഒഴിവാക്ക*",
        first="എപ്പോഴും|എല്ലായ്പ്പോഴും|എല്ലായ്‌പ്പോഴും|മാത്രം|ദയവായി|ഒരിക്കലും",
        maybe="എപ്പോഴും|മാത്രം|ആവശ്യ*|പകരം|കുറഞ്ഞത്",
        start="ഓരോ|എല്ലാ",
        asks="ദയവായി|നിങ്ങൾ|നീ",
    ),
)

SOUTHEAST_ASIAN = (
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

WESTERN_ASIAN = (
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

AFRICAN = (
    Language(
        "Swahili",
        sure="kuanzia (?:sasa|leo|hapa|wakati huu)|tangu sasa|tokea sasa|siku zijazo"
        "|kwa (?:hali|vyovyote|namna) (?:yoyote|vile|iwayo)|kwa hali yoyote ile"
        r"|bila (?:ubaguzi|kukosa)|usi(?!ng)\w{3,}|msi\w{3,}|asi(?:guse|badilishe|fute|tumie)"
        "|si ruhusa|hairuhusiwi|haruhusiwi|hakuna ruhusa|ni marufuku|marufuku|imekatazwa"
        r"|ni lazima|lazima … (?:kila|daima|tu)|hakikisha|kumbuka|kila (?:mara|wakati|unapo\w*)"
        r"|acha … (?:kama|ilivyo)|epuka|jiepushe|tafadhali usi\w+|tafadhali (?:daima|tumia)",
        first=r"kamwe|daima|siku zote|peke yake|wala|lazima|ni \w+ tu|tumia … (?:tu|daima|kila)"
        "|andika … (?:tu|kila|daima)|jibu … (?:tu|daima|kila)",
        maybe="kamwe|daima|siku zote|lazima|inapaswa|unapaswa|yapaswa|badala ya|angalau|sharti",
        start="kila|zote|yote|wote",
        asks="tafadhali|wewe|naomba|unaweza",
        common="na ya wa kwa ni katika la za kuwa hii hiyo si kama au yake lakini hapo cha vya "
        "kutoka",
    ),
    Language(
        "Hausa, Yoruba and Igbo",
        sure="daga yanzu|daga yau|kada (?:ka|ki|ku|a)|kar (?:ka|ki|ku|a)|ba a yarda|haramun"
        "|haramta|lallai|láti ìsinsìnyí|láti òní|má (?:ṣe|se|fi|yí|pa)|máṣe|kò gbọdọ̀|o kò gbọdọ̀"
        "|ma (?:se|fọwọ|fowo)|site ugbu a|site taa|emela|emetụla|agbanwela|ehichapụla",
        first="kullum|koyaushe|kawai|nígbà gbogbo|nikan|mgbe niile|naanị|kada",
        maybe="dole|wajibi|kullum|kawai|gbọdọ̀|gbọdọ|kwesịrị|ga-",
        start="kowane|kowace|gbogbo|ọ bụla",
        asks="don allah|jọ̀wọ́|jọwọ|biko",
        common="da na a ba ya ta ne ce ti ni ó ń sí ati fún na nke bụ ndị ka maka",
    ),
    Language(
        "Amharic",
        sure="ከአሁን (?:ጀምሮ|በኋላ|በሁዋላ)|ከዛሬ (?:ጀምሮ|በኋላ)|ከእንግዲህ|በጭራሽ|በፍጹም|ፈጽሞ"
        "|በምንም (?:አይነት|ዓይነት|መንገድ|ሁኔታ)*|አት*|አይፈቀድም|ክልክል|የተከለከለ|አይቻልም|አይገባም|ማረጋገጥ|እርግጠኛ|ሁል ጊዜ*|ሁልጊዜ*"
        "|ሁሌም",
        first="ብቻ|መቼም",
        maybe="ብቻ|አለበት|አለብህ|ይገባል|መሆን",
        start="እያንዳንዱ|ሁሉም|ማንኛውም",
        asks="እባክህ|እባክሽ|እባክዎ",
    ),
    Language(
        "Zulu, Xhosa and Somali",
        sure="kusukela manje|ukusuka ngoku|ungalokothi|ungaze"
        "|unga(?:thinti|shintshi|susi|sebenzisi|bhali)|akuvumelekile|kuvinjelwe|soze|laga bilaabo"
        "|hadda ka dib|waligaa|ha (?:taaban|beddelin|tirtirin|isticmaalin|qorin)|waa mamnuuc"
        "|marnaba",
        first="njalo|kuphela|had iyo jeer|kaliya|mar walba|weligaa",
        maybe="kumele|kufanele|waa in|waa inaad",
        start="yonke|njalo|kasta",
        asks="ngicela|nceda|fadlan",
        common="ukuthi futhi kanye noma uma kodwa waa ka ku iyo oo in ay la uu",
    ),
)
