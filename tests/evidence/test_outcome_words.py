"""Errors, decisions and outcomes are told in many languages; each test has English beside them."""

import re
import sysconfig
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from context_compression.conversation import Text, ToolResult
from context_compression.evidence.facts import (
    count_of_tests,
    decisions,
    error_lines,
    exit_status,
    fails_elsewhere,
    has_failed,
    outcome_lines,
)
from context_compression.evidence.ledger import tasks
from context_compression.evidence.outcome_words import (
    SEARCHED,
    OutcomeWords,
    any_word,
    count_of,
    hints,
    index_of,
    languages,
)
from context_compression.evidence.rule_words import NOTHING_MORE, Script, expressions, written

ERRORS = {
    "English": [
        "2026-03-04 10:12:01 ERROR db: connection lost",
        "java.lang.NullPointerException at Pool.get(Pool.java:41)",
        "Tests: 3 failed, 12 passed",
        "BUILD FAILED in 9s",
        "Connection refused by 10.0.0.4:5432",
        "Request to the payment service timed out after 30 s",
        "Permission denied: /var/log/app.log",
        "No such file: config/prod.yaml",
        "Out of memory: process 4711 was stopped",
        "No space left on device",
        "AssertionError: expected 3, got 4",
        "Process finished with exit code 137",
        "Deployment of release 2.4 failed, rolled back",
    ],
    "Chinese, simplified": [
        "2026-03-04 10:12:01 错误 数据库：连接丢失",
        "发生未处理的异常：空指针，位于 Pool.java 第41行",
        "测试结果：3 个失败，12 个通过",
        "构建失败，用时 9 秒",
        "连接被拒绝：10.0.0.4:5432",
        "请求支付服务超时（30秒）",
        "权限不足，无法写入 /var/log/app.log",
        "找不到文件 config/prod.yaml",
        "内存不足，进程 4711 被终止",
        "磁盘空间已满，写入中止",
        "断言不成立：期望 3，实际 4，测试未通过",
        "进程已结束，退出码 137",
        "2.4 版本部署失败，已回滚",
    ],
    "Chinese, traditional": [
        "2026-03-04 10:12:01 錯誤 資料庫：連線中斷",
        "發生未處理的例外狀況：空指標異常",
        "測試結果：3 個失敗，12 個通過",
        "建置失敗，耗時 9 秒",
        "連線被拒絕：10.0.0.4:5432",
        "請求付款服務逾時（30 秒）",
        "權限不足，無法寫入 /var/log/app.log",
        "找不到檔案 config/prod.yaml",
        "記憶體不足，程序 4711 已終止",
        "磁碟空間已滿",
        "斷言失敗：預期 3，實際 4",
        "程序結束，結束代碼 137",
        "2.4 版部署失敗，已還原",
    ],
    "Japanese": [
        "2026-03-04 10:12:01 エラー データベース：接続が切断されました",
        "未処理の例外が発生しました：NullPointer",
        "テスト結果：3 件失敗、12 件成功",
        "ビルドに失敗しました（9 秒）",
        "接続が拒否されました：10.0.0.4:5432",
        "決済サービスへの要求がタイムアウトしました",
        "アクセス権がありません：/var/log/app.log",
        "ファイルが見つかりません：config/prod.yaml",
        "メモリ不足のためプロセス 4711 を強制終了しました",
        "ディスクの空き容量が不足しています",
        "アサーション失敗：期待値 3、実際 4",
        "プロセスは終了コード 137 で終了しました",
        "リリース 2.4 のデプロイに失敗しました",
    ],
    "Korean": [
        "2026-03-04 10:12:01 오류 데이터베이스: 연결이 끊어졌습니다",
        "처리되지 않은 예외가 발생했습니다: NullPointer",
        "테스트 결과: 3개 실패, 12개 통과",
        "빌드 실패 (9초)",
        "연결이 거부되었습니다: 10.0.0.4:5432",
        "결제 서비스 요청 시간이 초과되었습니다",
        "권한이 없습니다: /var/log/app.log",
        "파일을 찾을 수 없습니다: config/prod.yaml",
        "메모리 부족으로 프로세스 4711이 종료되었습니다",
        "디스크 공간이 부족합니다",
        "단언 실패: 예상 3, 실제 4",
        "프로세스가 종료 코드 137로 종료됨",
        "릴리스 2.4 배포에 실패했습니다",
    ],
    "Russian": [
        "2026-03-04 10:12:01 ОШИБКА БД: соединение потеряно",
        "Необработанное исключение: NullPointer в Pool.java:41",
        "Тесты: 3 провалено, 12 пройдено",
        "Сборка не удалась за 9 с",
        "В соединении отказано: 10.0.0.4:5432",
        "Превышено время ожидания ответа платёжного сервиса",
        "Отказано в доступе: /var/log/app.log",
        "Файл не найден: config/prod.yaml",
        "Недостаточно памяти, процесс 4711 остановлен",
        "На диске закончилось место",
        "Проверка не пройдена: ожидалось 3, получено 4",
        "Процесс завершился с кодом 137",
        "Развёртывание версии 2.4 не удалось",
    ],
    "German": [
        "2026-03-04 10:12:01 FEHLER DB: Verbindung verloren",
        "Unbehandelte Ausnahme: NullPointer in Pool.java:41",
        "Tests: 3 fehlgeschlagen, 12 bestanden",
        "Build fehlgeschlagen nach 9 s",
        "Verbindung abgelehnt: 10.0.0.4:5432",
        "Zeitüberschreitung bei der Anfrage an den Zahlungsdienst",
        "Zugriff verweigert: /var/log/app.log",
        "Datei nicht gefunden: config/prod.yaml",
        "Nicht genügend Arbeitsspeicher, Prozess 4711 beendet",
        "Kein Speicherplatz mehr auf dem Gerät",
        "Zusicherung verletzt: erwartet 3, erhalten 4",
        "Prozess mit Exit-Code 137 beendet",
        "Auslieferung von Version 2.4 ist gescheitert",
    ],
    "French": [
        "2026-03-04 10:12:01 ERREUR bdd : connexion perdue",
        "Exception non gérée : NullPointer dans Pool.java:41",
        "Tests : 3 échoués, 12 réussis",
        "Échec de la compilation en 9 s",
        "Connexion refusée : 10.0.0.4:5432",
        "Délai d'attente dépassé pour le service de paiement",
        "Permission refusée : /var/log/app.log",
        "Fichier introuvable : config/prod.yaml",
        "Mémoire insuffisante, processus 4711 arrêté",
        "Plus d'espace disponible sur le disque",
        "Assertion non vérifiée : attendu 3, obtenu 4",
        "Processus terminé avec le code de sortie 137",
        "Le déploiement de la version 2.4 a échoué",
    ],
    "Spanish": [
        "2026-03-04 10:12:01 ERROR bd: conexión perdida",
        "Excepción no controlada: NullPointer en Pool.java:41",
        "Pruebas: 3 fallidas, 12 superadas",
        "La compilación falló tras 9 s",
        "Conexión rechazada: 10.0.0.4:5432",
        "Se agotó el tiempo de espera del servicio de pagos",
        "Permiso denegado: /var/log/app.log",
        "No se encontró el archivo config/prod.yaml",
        "Memoria insuficiente, proceso 4711 detenido",
        "No queda espacio en el dispositivo",
        "Aserción fallida: se esperaba 3, se obtuvo 4",
        "El proceso terminó con el código de salida 137",
        "El despliegue de la versión 2.4 falló",
    ],
    "Italian": [
        "ERRORE db: connessione persa",
        "Eccezione non gestita: NullPointer",
        "Test: 3 falliti, 12 superati",
        "Compilazione fallita",
        "Connessione rifiutata",
        "Tempo scaduto per il servizio",
        "Permesso negato: /var/log",
        "File non trovato: x.yaml",
        "Memoria esaurita",
        "Spazio su disco esaurito",
        "Asserzione fallita: atteso 3",
        "Processo terminato con codice di uscita 137",
        "Impossibile distribuire la versione 2.4",
    ],
    "Portuguese": [
        "ERRO bd: conexão perdida",
        "Exceção não tratada: NullPointer",
        "Testes: 3 falharam, 12 passaram",
        "A compilação falhou",
        "Conexão recusada",
        "Tempo limite esgotado",
        "Permissão negada: /var/log",
        "Arquivo não encontrado: x.yaml",
        "Memória insuficiente",
        "Não há espaço em disco",
        "Asserção falhou: esperado 3",
        "O processo terminou com código de saída 137",
        "Falha na implantação da versão 2.4",
    ],
    "Dutch": [
        "FOUT db: verbinding verbroken",
        "Onverwachte uitzondering: NullPointer",
        "Tests: 3 mislukt, 12 geslaagd",
        "Build mislukt",
        "Verbinding geweigerd",
        "Time-out bij de betaaldienst",
        "Toegang geweigerd: /var/log",
        "Bestand niet gevonden: x.yaml",
        "Onvoldoende geheugen",
        "Schijf is vol",
        "Bewering mislukt: verwacht 3",
        "Proces beëindigd met afsluitcode 137",
        "Uitrol van versie 2.4 is mislukt",
    ],
    "Polish": [
        "BŁĄD bd: utracono połączenie",
        "Nieobsłużony wyjątek: NullPointer",
        "Testy: 3 nieudane, 12 zaliczonych",
        "Kompilacja nie powiodła się",
        "Odmowa połączenia",
        "Przekroczono limit czasu",
        "Brak uprawnień: /var/log",
        "Nie znaleziono pliku x.yaml",
        "Brak pamięci",
        "Brak miejsca na dysku",
        "Asercja nieudana: oczekiwano 3",
        "Proces zakończył się z kodem wyjścia 137",
        "Wdrożenie wersji 2.4 nie powiodło się",
    ],
    "Turkish": [
        "HATA vt: bağlantı koptu",
        "İşlenmeyen istisna: NullPointer",
        "Testler: 3 başarısız, 12 başarılı",
        "Derleme başarısız oldu",
        "Bağlantı reddedildi",
        "Zaman aşımı: ödeme hizmeti",
        "Erişim engellendi: /var/log",
        "Dosya bulunamadı: x.yaml",
        "Bellek yetersiz",
        "Disk dolu",
        "Doğrulama başarısız: beklenen 3",
        "İşlem 137 çıkış kodu ile sonlandı",
        "Sürüm 2.4 dağıtılamadı",
    ],
    "Arabic": [
        "خطأ في قاعدة البيانات: انقطع الاتصال",
        "استثناء غير معالج: NullPointer",
        "الاختبارات: 3 فشلت، 12 نجحت",
        "فشل البناء",
        "تم رفض الاتصال",
        "انتهت مهلة الطلب",
        "ليس لديك إذن: /var/log",
        "لم يتم العثور على الملف x.yaml",
        "نفدت الذاكرة",
        "القرص ممتلئ",
        "فشل التأكيد: المتوقع 3",
        "انتهت العملية برمز الخروج 137",
        "فشل نشر الإصدار 2.4",
    ],
    "Hindi": [
        "त्रुटि: डेटाबेस कनेक्शन टूट गया",
        "अपवाद: NullPointer",
        "परीक्षण: 3 विफल, 12 सफल",
        "बिल्ड विफल",
        "कनेक्शन अस्वीकृत",
        "समय समाप्त: भुगतान सेवा",
        "अनुमति नहीं: /var/log",
        "फ़ाइल नहीं मिली: x.yaml",
        "मेमोरी समाप्त",
        "डिस्क भर गई",
        "अभिकथन विफल: अपेक्षित 3",
        "प्रक्रिया निकास कोड 137 के साथ समाप्त",
        "संस्करण 2.4 का परिनियोजन विफल",
    ],
    "Ukrainian": [
        "ПОМИЛКА БД: з'єднання втрачено",
        "Необроблений виняток: NullPointer",
        "Тести: 3 провалено, 12 пройдено",
        "Збірка не вдалася",
        "У з'єднанні відмовлено",
        "Перевищено час очікування",
        "Відмовлено в доступі: /var/log",
        "Файл не знайдено: x.yaml",
        "Недостатньо пам'яті",
        "Немає місця на диску",
        "Перевірку не пройдено: очікувалось 3",
        "Процес завершився, код завершення 137",
        "Розгортання не вдалося",
    ],
    "Vietnamese": [
        "LỖI csdl: mất kết nối",
        "Ngoại lệ chưa xử lý: NullPointer",
        "Kiểm thử: 3 thất bại, 12 đạt",
        "Xây dựng thất bại",
        "Kết nối bị từ chối",
        "Hết thời gian chờ dịch vụ",
        "Không có quyền: /var/log",
        "Không tìm thấy tệp x.yaml",
        "Hết bộ nhớ",
        "Ổ đĩa đầy",
        "Khẳng định thất bại: mong đợi 3",
        "Tiến trình kết thúc với mã thoát 137",
        "Triển khai 2.4 thất bại",
    ],
    "Indonesian": [
        "GALAT db: koneksi terputus",
        "Pengecualian tak tertangani: NullPointer",
        "Tes: 3 gagal, 12 lulus",
        "Build gagal",
        "Koneksi ditolak",
        "Waktu habis untuk layanan",
        "Izin ditolak: /var/log",
        "Berkas tidak ditemukan: x.yaml",
        "Kehabisan memori",
        "Ruang disk habis",
        "Asersi gagal: diharapkan 3",
        "Proses selesai dengan kode keluar 137",
        "Penerapan 2.4 gagal",
    ],
    "Swedish": [
        "FEL db: anslutningen bröts",
        "Ohanterat undantag: NullPointer",
        "Tester: 3 misslyckades, 12 lyckades",
        "Bygget misslyckades",
        "Anslutningen nekades",
        "Tidsgränsen överskreds",
        "Åtkomst nekad: /var/log",
        "Filen hittades inte: x.yaml",
        "Slut på minne",
        "Disken är full",
        "Påståendet misslyckades: väntade 3",
        "Processen avslutades med slutkod 137",
        "Driftsättningen av 2.4 misslyckades",
    ],
}
"""By language thirteen errors of the same kinds: a line of a log, an exception, tests, a build, a
connection, a time limit, a permission, a file, memory, a disk, an assertion, an exit code, a
deployment."""
DECISIONS = {
    "English": [
        "We decided to use PostgreSQL.",
        "Let's take Redis because it is already there.",
        "Agreed: amounts are stored in cents.",
        "We use UTC instead of local time.",
        "We won't support Windows 7.",
        "From now on, every change gets a test.",
        "I chose WAL mode.",
        "The root cause is a stale cache.",
    ],
    "Chinese, simplified": [
        "我们决定使用 PostgreSQL。",
        "就用 Redis 吧，因为已经有了。",
        "商定：金额以分存储。",
        "用 UTC 代替本地时间。",
        "我们不会支持 Windows 7。",
        "从现在起，每次修改都要有测试。",
        "我选择了 WAL 模式。",
        "根本原因是缓存过期。",
    ],
    "Chinese, traditional": [
        "我們決定使用 PostgreSQL。",
        "就用 Redis 吧，因為已經有了。",
        "約定：金額以分儲存。",
        "用 UTC 代替本地時間。",
        "我們不會支援 Windows 7。",
        "從現在起，每次修改都要有測試。",
        "我選擇了 WAL 模式。",
        "根本原因是快取過期。",
    ],
    "Japanese": [
        "PostgreSQL を使うことに決めました。",
        "すでにあるので Redis にしましょう。",
        "合意：金額はセントで保存します。",
        "現地時間ではなく UTC を使います。",
        "Windows 7 はサポートしません。",
        "今後はすべての変更にテストを付けます。",
        "WAL モードを選びました。",
        "根本原因は古いキャッシュです。",
    ],
    "Korean": [
        "PostgreSQL을 사용하기로 결정했습니다.",
        "이미 있으니까 Redis로 하자.",
        "합의: 금액은 센트로 저장한다.",
        "현지 시간 대신 UTC를 사용한다.",
        "Windows 7은 지원하지 않기로 했다.",
        "앞으로 모든 변경에는 테스트를 붙인다.",
        "WAL 모드를 선택했다.",
        "근본 원인은 오래된 캐시다.",
    ],
    "Russian": [
        "Мы решили использовать PostgreSQL.",
        "Давайте возьмём Redis, потому что он уже есть.",
        "Договорились: суммы храним в центах.",
        "Используем UTC вместо местного времени.",
        "Мы не будем поддерживать Windows 7.",
        "С этого момента каждое изменение получает тест.",
        "Я выбрал режим WAL.",
        "Причина — устаревший кэш.",
    ],
    "German": [
        "Wir haben uns für PostgreSQL entschieden.",
        "Lass uns Redis nehmen, weil es schon da ist.",
        "Vereinbart: Beträge werden in Cent gespeichert.",
        "Wir verwenden UTC statt Ortszeit.",
        "Wir werden Windows 7 nicht unterstützen.",
        "Ab jetzt bekommt jede Änderung einen Test.",
        "Die Wahl fiel auf WAL, deshalb bleibt es dabei.",
        "Die Ursache ist ein veralteter Cache.",
    ],
    "French": [
        "Nous avons décidé d'utiliser PostgreSQL.",
        "Prenons Redis parce qu'il est déjà là.",
        "Convenu : les montants sont en centimes.",
        "On utilise UTC au lieu de l'heure locale.",
        "On ne prendra pas en charge Windows 7.",
        "Désormais, chaque changement a un test.",
        "J'ai choisi le mode WAL.",
        "La cause est un cache périmé.",
    ],
    "Spanish": [
        "Decidimos usar PostgreSQL.",
        "Usemos Redis porque ya está.",
        "Acordado: los importes se guardan en céntimos.",
        "Usamos UTC en lugar de la hora local.",
        "No vamos a soportar Windows 7.",
        "A partir de ahora, cada cambio lleva una prueba.",
        "Elegí el modo WAL.",
        "La causa es una caché vieja.",
    ],
    "Italian": [
        "Abbiamo deciso di usare PostgreSQL.",
        "Usiamo Redis perché c'è già.",
        "Concordato: gli importi sono in centesimi.",
        "Usiamo UTC invece dell'ora locale.",
        "Non useremo Windows 7.",
        "D'ora in poi ogni modifica ha un test.",
        "Ho scelto WAL.",
        "La causa è una cache vecchia.",
    ],
    "Polish": [
        "Zdecydowaliśmy się na PostgreSQL.",
        "Weźmy Redis, ponieważ już jest.",
        "Ustalono: kwoty w groszach.",
        "Używamy UTC zamiast czasu lokalnego.",
        "Nie będziemy wspierać Windows 7.",
        "Od teraz każda zmiana ma test.",
        "Wybraliśmy WAL.",
        "Przyczyną jest stara pamięć podręczna.",
    ],
    "Turkish": [
        "PostgreSQL kullanmaya karar verdik.",
        "Redis kullanalım çünkü zaten var.",
        "Anlaştık: tutarlar kuruş olarak.",
        "Yerel saat yerine UTC.",
        "Windows 7 desteklemeyeceğiz.",
        "Bundan sonra her değişiklik test alır.",
        "WAL modunu seçtik.",
        "Nedeni eski önbellek.",
    ],
}
"""By language eight sentences that tell a decision or its reason."""
NOTHING_WRONG = {
    "English": [
        "No new exceptions were found",
        "0 errors",
        "0 failed",
        "Build finished without errors",
        "Exit code 0",
        "error-free",
        "The connection was not refused",
    ],
    "Chinese, simplified": [
        "日志里没有发现新的异常。",
        "没有错误",
        "0 个错误",
        "失败：0",
        "退出码 0",
        "全部通过，无失败",
        "没有超时",
    ],
    "Chinese, traditional": [
        "日誌裡沒有發現新的異常。",
        "沒有錯誤",
        "0 個錯誤",
        "失敗：0",
        "結束代碼 0",
        "無錯誤",
        "未發現異常",
    ],
    "Japanese": [
        "エラーはありません",
        "エラーなし",
        "エラーは見つかりませんでした",
        "失敗: 0",
        "終了コード 0",
        "エラー 0 件",
        "例外は発生していません",
    ],
    "Korean": [
        "오류 없음",
        "오류가 없습니다",
        "오류가 발견되지 않았습니다",
        "실패: 0",
        "종료 코드 0",
        "오류 0건",
        "실패 없이 끝났다",
    ],
    "Russian": [
        "без ошибок",
        "ошибок нет",
        "Ошибок не обнаружено",
        "0 ошибок",
        "Ошибок: 0",
        "Новых исключений не найдено",
        "код выхода 0",
    ],
    "German": [
        "ohne Fehler",
        "keine Fehler",
        "0 Fehler",
        "Fehler: 0",
        "Es wurden keine neuen Fehler gefunden",
        "0 fehlgeschlagen",
        "Exit-Code 0",
    ],
    "French": [
        "sans erreur",
        "aucune erreur",
        "0 erreurs",
        "Erreurs : 0",
        "Aucune nouvelle erreur trouvée",
        "0 échoués",
        "code de sortie 0",
    ],
    "Spanish": [
        "sin errores",
        "ningún error",
        "0 errores",
        "Errores: 0",
        "No se encontraron errores nuevos",
        "0 fallidas",
        "código de salida 0",
    ],
    "Italian": ["senza errori", "nessun errore", "0 errori", "Errori: 0", "Nessun nuovo errore"],
    "Dutch": ["geen fouten", "zonder fouten", "0 fouten"],
    "Polish": ["bez błędów", "brak błędów", "0 błędów", "Nie znaleziono błędów"],
    "Turkish": ["hata yok", "0 hata"],
    "Portuguese": ["sem erros", "nenhum erro", "0 erros"],
    "Ukrainian": ["без помилок", "помилок немає"],
    "Arabic": ["لا توجد أخطاء", "بدون أخطاء"],
    "Hindi": ["कोई त्रुटि नहीं"],
    "Vietnamese": ["không có lỗi"],
    "Indonesian": ["tidak ada kesalahan", "tanpa kesalahan"],
    "Swedish": ["inga fel", "utan fel", "0 fel"],
}
"""By language lines that say that nothing went wrong."""

COUNTS = {
    "English": "3 failed, 12 passed",
    "Chinese, simplified": "测试结果：3 个失败，12 个通过",
    "Chinese, with numbers behind": "通过 12，失败 3",
    "Chinese, traditional": "測試結果：3 個失敗，12 個通過",
    "Japanese": "テスト結果：3 件失敗、12 件成功",
    "Korean": "테스트 결과: 3개 실패, 12개 통과",
    "Russian": "Тесты: 3 провалено, 12 пройдено",
    "German": "Tests: 3 fehlgeschlagen, 12 bestanden",
    "French": "Tests : 3 échoués, 12 réussis",
    "Spanish": "Pruebas: 3 fallidas, 12 superadas",
    "Portuguese": "Testes: 3 falharam, 12 passaram",
    "Italian": "Test: 3 falliti, 12 superati",
}
VERDICTS = {
    "English": "BUILD FAILED in 3s",
    "Chinese": "构建失败",
    "Japanese": "ビルドに成功しました",
    "Korean": "빌드 실패",
    "Russian": "Сборка не удалась",
    "German": "Build fehlgeschlagen",
    "Spanish": "La compilación falló",
}
MOST_MISSED_ERRORS, MOST_MISSED_DECISIONS = 1, 1
"""How many of the thirteen errors, and of the eight decisions, may be missed in a language."""


@pytest.mark.parametrize("language", ERRORS)
def test_an_error_is_recognised_in_its_language(language: str) -> None:
    lines = ERRORS[language]

    missed = [line for line in lines if not error_lines(line)]

    assert len(missed) <= MOST_MISSED_ERRORS, missed


@pytest.mark.parametrize("language", [*ERRORS][:9])
def test_an_error_is_found_among_lines_of_routine_in_its_language(language: str) -> None:
    quiet = [line for line in NOTHING_WRONG.get(language, ()) for _ in range(9)]
    lines = [line for line in ERRORS[language] if error_lines(line)]
    text = "\n".join(part for line in lines for part in (*quiet, line, *quiet))

    found = error_lines(text)

    assert found == lines


@pytest.mark.parametrize("language", DECISIONS)
def test_a_decision_is_recognised_in_its_language(language: str) -> None:
    missed = [said for said in DECISIONS[language] if decisions(said) != [said]]

    assert len(missed) <= MOST_MISSED_DECISIONS, missed


@pytest.mark.parametrize("language", NOTHING_WRONG)
def test_a_line_that_says_that_nothing_went_wrong_is_no_error(language: str) -> None:
    assert [line for line in NOTHING_WRONG[language] if error_lines(line)] == []


@pytest.mark.parametrize("line", COUNTS.values(), ids=COUNTS)
def test_the_numbers_of_tests_are_read(line: str) -> None:
    output = f"one\ntwo\n{line}\n"

    assert tasks.test_counts(output) == "3 failed, 12 passed"
    assert [output[slice(*span)] for span in outcome_lines(output)] == [line]
    assert count_of_tests(output) is not None


@pytest.mark.parametrize("line", VERDICTS.values(), ids=VERDICTS)
def test_a_verdict_is_an_outcome(line: str) -> None:
    output = f"one\ntwo\n{line}\n"

    assert [output[slice(*span)] for span in outcome_lines(output)] == [line]


@pytest.mark.parametrize(
    "text",
    ["Error: no disk", "错误：找不到文件", "錯誤：找不到檔案", "エラー：保存できません",
     "오류: 저장 실패",
     "Ошибка: файл не найден", "Fehler: keine Datei", "Erreur : fichier introuvable"],
)  # fmt: skip
def test_a_short_result_that_is_only_an_error_has_failed(text: str) -> None:
    assert has_failed(ToolResult("c", (Text(text),)))
    assert not has_failed(ToolResult("c", (Text(f"OK. {text}"),)))


@pytest.mark.parametrize(
    ("text", "status"),
    [("exit code: 3", "3"), ("完成\n退出码：3", "3"), ("終了コード: 3", "3"), ("종료 코드 3", "3"),
     ("код выхода: 3", "3"), ("código de salida: 3", "3"), ("退出了 3 次", None)],
)  # fmt: skip
def test_an_exit_status_is_read(text: str, status: str | None) -> None:
    assert exit_status(text) == status


@pytest.mark.parametrize(
    "line", ["connection refused", "连接被拒绝", "接続が拒否されました", "В доступе отказано"]
)
def test_a_line_of_a_call_that_succeeded_is_a_report_only_with_such_words(line: str) -> None:
    assert tasks.reported_errors(f"a\n{line}\nb", failed=False) == [line]


def test_no_source_in_english_tells_errors_in_other_languages() -> None:
    folder = Path(sysconfig.get_path("stdlib"))
    texts = [path.read_text("utf-8") for path in sorted(folder.glob("[a-m]*.py"))]
    lines = [line for text in texts for line in text.split("\n") if line.isascii()]

    found = [line for line in lines if fails_elsewhere(line)]

    assert len(lines) > 20_000
    assert len(found) <= len(lines) / 10_000, found


def test_source_that_handles_errors_tells_none() -> None:
    source = """
    try:
        raise ValueError(error)
    except (KeyError, OSError) as error:
        pass
    12→    except ValueError:
    from errors import Failed
    class NotFoundError(Exception):
    } catch (error) {
    """

    assert error_lines(source) == []


@pytest.mark.parametrize("script", Script)
def test_every_expression_of_the_table_can_be_searched(script: Script) -> None:
    index = index_of(script)

    found = [index.anywhere(use) for use in SEARCHED]
    found += [index.expression(key, use) for key in index.phrases for use in SEARCHED]
    found += [any_word(script, field) for field in ("none", "after", "not", "verdict", "exit")]

    assert any(found)
    assert not any(each.fullmatch("") for each in found if each and each is not NOTHING_MORE)
    assert count_of(script).of("no number") == {}


def test_every_language_has_words_for_errors_and_decisions() -> None:
    assert len({language.name for language in languages()}) == len(languages())
    assert all(each.decided and (each.error or each.name == "English") for each in languages())


IN_LATIN = [
    (field, word)
    for language in languages()
    for field in SEARCHED
    for word in expressions(getattr(language, field), Script.LATIN, folds=False)
    if language.name != "English"
]
"""All expressions in Latin letters, with their field."""


@pytest.mark.parametrize("field", SEARCHED)
def test_every_plain_word_in_ascii_is_a_hint(field: str) -> None:
    words = {word.strip("*") for each, word in IN_LATIN if each == field}
    plain = [word for word in sorted(words) if word.isascii() and re.fullmatch("[a-z' -]+", word)]

    assert len(plain) > 3 or field in ("exit", "skipped", "verdict", "passed", "failed")
    assert [word for word in plain if not hints((field,)).in_text(f"So, {word.upper()}.")] == []


@given(st.data())
def test_what_an_expression_matches_in_ascii_has_a_hint(data: st.DataObject) -> None:
    field, word = data.draw(st.sampled_from(IN_LATIN))
    pattern = re.compile(written(word.removeprefix("*"), Script.LATIN), re.ASCII)
    text = data.draw(st.from_regex(pattern, fullmatch=True))
    assume(text.isascii())

    assert hints((field,)).in_text(text)


@pytest.mark.parametrize(
    "line", ["没有错误，" * 40_000, "失败" * 100_000, "没有错误，" * 900 + "失败"]
)
def test_a_long_line_of_words_for_errors_takes_no_time(line: str) -> None:
    found = OutcomeWords(line).failures(0, len(line))

    assert len(found) == line.endswith("失败")


def test_of_words_in_lines_one_that_is_not_taken_back_is_found() -> None:
    text = "keine Fehler, aber ein Abbruch\nkeine Fehler\n\nAbbruch, Absturz\nkein Absturz"

    found = OutcomeWords(text).failures(0, len(text))

    assert [text[at:].split()[0].rstrip(",") for at in found] == ["Abbruch", "Abbruch"]
